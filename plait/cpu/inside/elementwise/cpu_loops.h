// The loops of cpu_elementwise.h by number, and how one of them is run on operands that are not
// dense or are narrow.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {

inline constexpr int kMostOperands = 3;
inline constexpr size_t kMostLoops = 1024;

// A kernel and its operands as they lie in memory.
struct Loop {
  std::string_view op;
  DType dtype;
  DType result;  // of the elements in memory, as `dtype` is
  int arity = 0;
  // Bytes of one element in memory. Those of narrow floats are twice as long, or four times, in
  // f32.
  int64_t out_size = 0;
  std::array<int64_t, kMostOperands> in_sizes = {};
  bool widens = false;   // all operands
  bool narrows = false;  // the result
  // At each level, null where the CPU has it not.
  std::array<DenseLoop, kCpuLevelCount> run = {}, widen = {}, narrow = {};
};

std::optional<size_t> find_loop(std::string_view op, DType dtype);
size_t loop_count();
const Loop& loop_at(size_t number);

// An ElementwiseLoop, but for the loop.
void run_loop(const Loop& loop, std::byte* out, int64_t out_stride, const std::byte* const* in,
              const int64_t* in_strides, int64_t count);

}  // namespace plait::cpu
