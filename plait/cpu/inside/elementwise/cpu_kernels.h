// Kernels of the loops in cpu_elementwise.h, which work on contiguous elements, and their tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/core/numbers/dtype.h"
#include "plait/cpu/cpu_level.h"

namespace plait::cpu {

// `out` may be one of the operands if their elements have the same size. All are aligned.
using DenseLoop = void (*)(std::byte* out, const std::byte* const* in, int64_t count);

struct Kernel {
  std::string_view op;
  DType dtype;  // lookup key: the dtype of all operands, except the first one of `select`
  DType result;
  int arity;
  DenseLoop run;
};
using Kernels = std::vector<Kernel>;

// Conversions of a narrow float to f32 and back; rounded once, as in core/numbers/float_formats.h.
struct NarrowFloat {
  DType dtype;
  DenseLoop widen, narrow;
};
using NarrowFloats = std::vector<NarrowFloat>;

// One function per level, in the order of the levels; without Highway all are the same. Only those
// that the CPU supports may be called. All fill their tables in the same order.
template <class Table>
using EachLevel = std::array<void (*)(Table&), kCpuLevelCount>;

extern const EachLevel<Kernels> kArithmeticKernels;
extern const EachLevel<Kernels> kFunctionKernels;
extern const EachLevel<NarrowFloats> kNarrowFloats;
void add_scalar_kernels(Kernels& kernels);
void add_complex_kernels(Kernels& kernels);

}  // namespace plait::cpu
