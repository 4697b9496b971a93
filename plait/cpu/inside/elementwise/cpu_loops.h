// The table of loops of cpu_elementwise.h, and their execution on operands that are strided or
// narrow.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {

inline constexpr int kMostOperands = 3;
inline constexpr size_t kMostLoops = 1024;

// A kernel with the representation of its operands in memory.
struct Loop {
  std::string_view op;
  DType dtype;
  DType result;  // dtype of the result in memory; `dtype` is that of the operands
  int arity = 0;
  // Bytes per element in memory. Elements of narrow floats are two or four times as large in f32.
  int64_t out_size = 0;
  std::array<int64_t, kMostOperands> in_sizes = {};
  bool widens = false;   // operands are converted to f32 first
  bool narrows = false;  // the result is converted from f32
  // One per level; null if the CPU does not support it.
  std::array<DenseLoop, kCpuLevelCount> run = {}, widen = {}, narrow = {};
};

std::optional<size_t> find_loop(std::string_view op, DType dtype);
const Loop& loop_at(size_t number);

// Runs a loop with the arguments of an ElementwiseLoop.
void run_loop(const Loop& loop, std::byte* out, int64_t out_stride, const std::byte* const* in,
              const int64_t* in_strides, int64_t count);

}  // namespace plait::cpu
