// Products of two rows, which are read once: no block of anything is worth being kept.
#pragma once

#include <vector>

#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {

// Sums in lanes; for a few thousand elements, which are dense.
using Dot = double (*)(const std::byte* a, const std::byte* b, int64_t count);
// Of rows that begin `stride` bytes apart, with the same b; added to the totals.
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

// Without functions where there is none for the dtype.
DotKernel find_dot(DType dtype);

// Of rows of any length, rounded to the dtype at last; strides are in bytes.
struct Dots {
  const std::byte* a;
  int64_t a_stride, rows;
  const std::byte* b;
  int64_t count;
  std::byte* out;
  int64_t out_stride;
};
void write_dots(const DotKernel& kernel, const Dots& dots);
// One by several threads, with the same bits however many there are.
void write_long_dot(const DotKernel& kernel, const std::byte* a, const std::byte* b, int64_t count,
                    std::byte* out);

inline constexpr int64_t kLongDot = 1 << 16;  // elements worth several threads

}  // namespace plait::cpu
