// Dot products of rows. Each element is read once, so blocking would not help.
#pragma once

#include <vector>

#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {

// Accumulates in lanes; for a few thousand contiguous elements.
using Dot = double (*)(const std::byte* a, const std::byte* b, int64_t count);
// Several rows, `stride` bytes apart, times the same b; added to the totals.
inline constexpr int64_t kDotRows = 4;
using DotsOfRows = void (*)(const std::byte* a, int64_t stride, const std::byte* b, int64_t count,
                            double* totals);

struct DotKernel {
  DType dtype;
  Dot run = nullptr;
  DotsOfRows run_rows = nullptr;
};
using DotKernels = std::vector<DotKernel>;

extern const EachLevel<DotKernels> kDotKernels;

// The functions are null if there are none for the dtype.
DotKernel find_dot(DType dtype);

// For rows of any length, rounded to the dtype at the end; strides are in bytes.
struct Dots {
  const std::byte* a;
  int64_t a_stride, rows;
  const std::byte* b;
  int64_t count;
  std::byte* out;
  int64_t out_stride;
};
void write_dots(const DotKernel& kernel, const Dots& dots);
// One dot product by several threads; the result does not depend on their number.
void write_long_dot(const DotKernel& kernel, const std::byte* a, const std::byte* b, int64_t count,
                    std::byte* out);

inline constexpr int64_t kLongDot = 1 << 16;  // elements that are worth several threads

}  // namespace plait::cpu
