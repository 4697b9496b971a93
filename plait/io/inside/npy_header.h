// What stands before the elements of a .npy file: "\x93NUMPY", a version, the length of the rest,
// and a Python dictionary that says dtype, order and sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "plait/core/numbers/dtype.h"
#include "plait/tensor/memory/layout.h"

namespace plait {

// With so many bytes the length of the header is known, in every version.
inline constexpr size_t kNpyPrefix = 12;

struct NpyHeader {
  DType dtype = DType::f32;
  bool is_big_endian = false;
  bool is_fortran_order = false;  // the first index runs fastest
  Sizes sizes = {};
  size_t data_begin = 0;   // where in the file the elements lie
  int64_t data_bytes = 0;  // how many bytes they are

  Layout layout() const;  // of elements that lie as in the file
};

// How many bytes the header has, told by its beginning: kNpyPrefix bytes, or fewer where the file
// ends. ParseError for what begins no .npy file, or a header that goes on past `file_bytes`.
size_t npy_header_bytes(std::span<const std::byte> beginning, uint64_t file_bytes);
// Takes the header alone, from the beginning of the file. A size that `file_bytes` cannot back, or
// leaves bytes over, is a ParseError.
NpyHeader parse_npy_header(std::span<const std::byte> header, uint64_t file_bytes);

// As NumPy writes it.
std::string npy_header(DType dtype, std::span<const int64_t> sizes);

}  // namespace plait
