#include "plait/io/inside/element_bytes.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/io/inside/npy_array.h"

namespace plait {
namespace {

Array copy_of_bytes(DType dtype, Sizes sizes, std::span<const std::byte> bytes) {
  Array result = Array::empty(dtype, std::move(sizes));
  const Layout row = Layout::contiguous({static_cast<int64_t>(bytes.size())});
  Array target(DType::u8, row, result.buffer());
  copy_elements(Array::borrow(DType::u8, row, bytes.data(), static_cast<int64_t>(bytes.size()), {}),
                target);
  return result;
}

}  // namespace

bool is_aligned(const std::byte* data, DType dtype) {
  const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(size_of(dtype), 8));
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

Array array_of_bytes(DType dtype, Sizes sizes, std::span<const std::byte> bytes,
                     std::shared_ptr<const void> owner) {
  if (!owner || !is_aligned(bytes.data(), dtype)) {
    return copy_of_bytes(dtype, std::move(sizes), bytes);
  }
  Array array = Array::borrow(dtype, Layout::contiguous(std::move(sizes)), bytes.data(),
                              static_cast<int64_t>(bytes.size()), [owner = std::move(owner)] {});
  array.buffer().declare_constant();
  return array;
}

void check_booleans(const Array& array, std::optional<uint64_t> position) {
  if (!is_boolean(array.dtype())) return;
  const auto bytes = bytes_of(array);
  const auto is_neither = [](std::byte byte) { return byte > std::byte{1}; };
  std::byte seen{0};
  for (const std::byte byte : bytes) seen |= byte;
  if (!is_neither(seen)) return;
  const auto at = std::ranges::find_if(bytes, is_neither);
  const std::string place =
      position ? fmt::format("byte {}: ", *position + static_cast<uint64_t>(at - bytes.begin()))
               : "";
  throw ParseError("{}{} is not a bool, which is 0 or 1", place, static_cast<unsigned>(*at));
}

}  // namespace plait
