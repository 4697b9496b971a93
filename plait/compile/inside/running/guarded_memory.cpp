#include "plait/compile/inside/running/guarded_memory.h"

#include <algorithm>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait::compile {
namespace {

constexpr std::byte kMark{0xa5}, kPoison{0xff};

bool is_marked(const std::byte* begin, const std::byte* end) {
  return std::all_of(begin, end, [](std::byte each) { return each == kMark; });
}

}  // namespace

GuardedBlock::GuardedBlock(int64_t bytes, int64_t shift, int64_t element_bytes) : bytes_(bytes) {
  shift = quotient_up(shift, element_bytes) * element_bytes;
  const int64_t page = sysconf(_SC_PAGESIZE);
  const int64_t used = quotient_up(bytes + shift, page) * page;
  const auto mapped = static_cast<size_t>(used + page);
  void* const memory =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw MemoryError("no memory for {} guarded bytes", bytes);
  first_ = static_cast<std::byte*>(memory);
  end_ = first_ + used;
  mprotect(end_, static_cast<size_t>(page), PROT_NONE);
  buffer_ = Buffer::adopt(end_ - shift - bytes, [memory, mapped] { munmap(memory, mapped); });
  std::fill(first_, end_, kMark);
  std::fill_n(buffer_.data(), bytes_, kPoison);
}

void GuardedBlock::expect_untouched() const {
  if (is_marked(first_, buffer_.data()) && is_marked(buffer_.data() + bytes_, end_)) return;
  throw CheckError("something was written outside of a block of {} bytes", bytes_);
}

}  // namespace plait::compile
