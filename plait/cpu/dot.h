// Products of two rows, which are read once: no block of anything is worth being kept.
#pragma once

#include <vector>

#include "plait/cpu/kernels.h"

namespace plait::cpu {

// Sums in lanes; for a few thousand elements, which are dense.
using Dot = double (*)(const std::byte* a, const std::byte* b, int64_t count);

struct DotKernel {
  DType dtype;
  Dot run;
};
using DotKernels = std::vector<DotKernel>;

extern const EachLevel<DotKernels> kDotKernels;

// Null where there is none for the dtype.
Dot find_dot(DType dtype);

// Of rows of any length, rounded to the dtype at last.
void write_dot(Dot dot, DType dtype, const std::byte* a, const std::byte* b, int64_t count,
               std::byte* out);
// The same by several threads, with the same bits however many there are.
void write_long_dot(Dot dot, DType dtype, const std::byte* a, const std::byte* b, int64_t count,
                    std::byte* out);

inline constexpr int64_t kLongDot = 1 << 17;  // elements worth several threads

}  // namespace plait::cpu
