// Arrays whose elements are bytes of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "plait/tensor/memory/array.h"

namespace plait {

// True if elements of the dtype may be read at this address.
bool is_aligned(const std::byte* data, DType dtype);

// The array whose elements are the bytes, in row-major order. It borrows them if `owner` keeps them
// alive and they are aligned; otherwise it is a copy.
Array array_of_bytes(DType dtype, Sizes sizes, std::span<const std::byte> bytes,
                     std::shared_ptr<const void> owner);

// ParseError if the contiguous array has a bool that is neither 0 nor 1. `position` is the byte of
// the file where the elements begin, if they are adjacent there.
void check_booleans(const Array& array, std::optional<uint64_t> position);

}  // namespace plait
