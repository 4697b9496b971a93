// IDX files, the format of MNIST and similar datasets: one array each, mostly of bytes, optionally
// compressed with gzip.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "plait/tensor/memory/array.h"

namespace plait {

// Supports u8 i8 i16 i32 f32 f64. A file of 1 MiB and more of u8 or i8 that is not compressed is
// mapped: its pages are read when they are first used. IoError if the file cannot be read,
// ParseError if it is not an IDX file or is damaged.
Array load_idx(const std::string& path);

// The same, from the bytes of a file.
Array read_idx(std::span<const std::byte> bytes);

}  // namespace plait
