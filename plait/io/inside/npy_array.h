// Arrays of the bytes of .npy files, wherever these come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "plait/io/inside/deflate.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// Borrows the elements where they are many and lie in memory as an array's do; `owner` keeps the
// bytes alive. Without an owner, always a copy.
Array npy_array(std::span<const std::byte> file, std::shared_ptr<const void> owner);

// Of the `bytes` that the inflater gives next.
Array npy_array(Inflater& inflater, uint64_t bytes);

// The elements of an array as they lie in a file.
std::span<const std::byte> bytes_of(const Array& contiguous);

}  // namespace plait
