// What the loops in cpu_elementwise.h are made of: kernels, which work on dense elements, and the
// tables that list them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/core/numbers/dtype.h"
#include "plait/cpu/cpu_level.h"

namespace plait::cpu {

// `out` may be one of the operands, if the sizes of the elements are the same. All are aligned.
using DenseLoop = void (*)(std::byte* out, const std::byte* const* in, int64_t count);

struct Kernel {
  std::string_view op;
  DType dtype;  // by which it is found: of all operands, but the first one of `select`
  DType result;
  int arity;
  DenseLoop run;
};
using Kernels = std::vector<Kernel>;

// Conversions of one narrow float to f32 and back; rounded once, as in
// core/numbers/float_formats.h.
struct NarrowFloat {
  DType dtype;
  DenseLoop widen, narrow;
};
using NarrowFloats = std::vector<NarrowFloat>;

// Each has one function a level, in their order; without Highway they are the same. Only those that
// the CPU can run may be called. Their tables list the same in the same order.
template <class Table>
using EachLevel = std::array<void (*)(Table&), kCpuLevelCount>;

extern const EachLevel<Kernels> kArithmeticKernels;
extern const EachLevel<Kernels> kFunctionKernels;
extern const EachLevel<NarrowFloats> kNarrowFloats;
void add_scalar_kernels(Kernels& kernels);
void add_complex_kernels(Kernels& kernels);

}  // namespace plait::cpu
