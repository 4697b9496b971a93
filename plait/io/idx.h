// IDX files, in which MNIST and its kin come: one array each, of bytes mostly, as they are or
// compressed by gzip.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "plait/tensor/memory/array.h"

namespace plait {

// u8 i8 i16 i32 f32 f64. IoError when the file cannot be read, ParseError when it is no such file,
// or damaged.
Array load_idx(const std::string& path);

// The same, of a file's bytes.
Array read_idx(std::span<const std::byte> bytes);

}  // namespace plait
