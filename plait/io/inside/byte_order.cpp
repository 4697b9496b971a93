#include "plait/io/inside/byte_order.h"

#include <bit>

#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are little-endian bytes");

constexpr int64_t kGrain = 1 << 16;  // bytes worth a thread

// The parts of a complex number are reversed separately, and so are the words of a key.
int64_t word_size(DType dtype) {
  return is_complex(dtype) || is_key(dtype) ? size_of(dtype) / 2 : size_of(dtype);
}

template <class Word>
void reverse_bytes(std::byte* bytes, int64_t count) {
  auto* words = reinterpret_cast<Word*>(bytes);
  parallel_for(count / static_cast<int64_t>(sizeof(Word)), kGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if constexpr (sizeof(Word) == 2) words[i] = __builtin_bswap16(words[i]);
      if constexpr (sizeof(Word) == 4) words[i] = __builtin_bswap32(words[i]);
      if constexpr (sizeof(Word) == 8) words[i] = __builtin_bswap64(words[i]);
    }
  });
}

}  // namespace

void reverse_byte_order(Array& array) {
  const int64_t bytes = array.element_count() * array.element_size();
  std::byte* data = array.writable_data();
  switch (word_size(array.dtype())) {
    case 2: return reverse_bytes<uint16_t>(data, bytes);
    case 4: return reverse_bytes<uint32_t>(data, bytes);
    case 8: return reverse_bytes<uint64_t>(data, bytes);
    default: return;
  }
}

}  // namespace plait
