// The header of a .npy file: "\x93NUMPY", a version, the length of the rest, and a Python
// dictionary with dtype, order and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "plait/core/numbers/dtype.h"
#include "plait/tensor/memory/layout.h"

namespace plait {

// Number of bytes that suffices to find the length of the header, in every version.
inline constexpr size_t kNpyPrefix = 12;

struct NpyHeader {
  DType dtype = DType::f32;
  bool is_big_endian = false;
  bool is_fortran_order = false;  // column-major: the first index varies fastest
  Sizes sizes = {};
  size_t data_begin = 0;   // offset of the elements in the file
  int64_t data_bytes = 0;  // bytes of all elements

  Layout layout() const;  // layout of the elements in the file
};

// The number of bytes of the header, read from its beginning: kNpyPrefix bytes, or fewer if the
// file is shorter. ParseError if it is not the beginning of a .npy file, or if the header extends
// beyond `file_bytes`.
size_t npy_header_bytes(std::span<const std::byte> beginning, uint64_t file_bytes);
// Parses the header at the beginning of the file. ParseError if the sizes do not agree with
// `file_bytes`.
NpyHeader parse_npy_header(std::span<const std::byte> header, uint64_t file_bytes);

// Byte for byte as NumPy writes it.
std::string npy_header(DType dtype, std::span<const int64_t> sizes);

}  // namespace plait
