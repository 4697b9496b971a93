// The kernel of Fourier transforms, in CUDA C++.
#pragma once

#include <cstdint>
#include <string>

#include "plait/core/numbers/dtype.h"
#include "plait/cuda/inside/driver/driver.h"

namespace plait::cuda {

inline constexpr int kMostRadices = 12;          // in a pass
inline constexpr int32_t kMostRadix = 31;        // the greatest prime factor
inline constexpr int32_t kMostColumns = 64;      // that a block transforms together
inline constexpr int kMostFourierThreads = 512;  // in a block

// How the first pass reads a row.
enum class FourierInput : uint8_t {
  complex,
  real,
  half,  // the first half of a transform of real numbers; the rest are conjugates of it
};
// How the last pass writes a row.
enum class FourierOutput : uint8_t {
  complex,
  real,  // the real parts
  half,  // the first half of a transform of real numbers
};

// A pass of Stockham's algorithm over rows of a length n that is a product of sizes, those of
// earlier passes being `before`, that of this one `size`, and those of later ones `count`. Elements
// of a row are `inner` apart. With s = inner · before, columns q + s p (q < s, p < count) consist
// of the elements q + s (p + count k), k < size. A block transforms some columns in shared memory,
// multiplies element k by e^(-2πi p k / (size count)), and stores it at q + s (size p + k): all
// rows are in natural order after the last pass.
struct FourierPass {
  int64_t columns = 0;  // in all rows
  int64_t stride = 1, count = 1, before = 1, inner = 1;
  int64_t in_length = 1, out_length = 1;  // elements of a row in memory
  int64_t valid = 1;                      // elements that are read; the others are 0
  int64_t period = 1;                     // length of a transform of real numbers
  Address roots = 0;                      // e^(-2πi k / size)
  Address fine = 0, coarse = 0;           // e^(-2πi k / n) = coarse[k >> shift] fine[…]
  // Factors of each element in its row, unless null: when it is read; when it is written, before
  // and after the exchange in the middle.
  Address in_chirp = 0, filter = 0, out_chirp = 0;
  double factor = 1;
  int32_t size = 1, together_log = 0, pitch = 1, shift = 0;
  // Exchange real and imaginary parts, which makes the transform its inverse.
  int32_t in_swapped = 0, middle_swapped = 0, out_swapped = 0;
  // Neighbouring threads access neighbours along the row, else along the columns.
  int32_t in_along = 0, out_along = 0;
  int32_t radix_count = 0;
  int32_t radices[kMostRadices] = {};
};

// Kernel transform(FourierPass, input, output), for c64 or c128. Its shared memory has two buffers
// of size · pitch numbers.
std::string fourier_text(DType dtype, FourierInput input, FourierOutput output, bool narrow);

}  // namespace plait::cuda
