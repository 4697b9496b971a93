// Makes arrays from the bytes of .npy files, which may come from files, archives or memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "plait/io/inside/deflate.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// Borrows the elements if the array is large, aligned and in native byte order; `owner` keeps the
// bytes alive. Without an owner the elements are always copied.
Array npy_array(std::span<const std::byte> file, std::shared_ptr<const void> owner);

// Reads the next `bytes` bytes of the inflater.
Array npy_array(Inflater& inflater, uint64_t bytes);

// The elements of an array as they are stored in a file.
std::span<const std::byte> bytes_of(const Array& contiguous);

}  // namespace plait
