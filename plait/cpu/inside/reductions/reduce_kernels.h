// Kernels of cpu_reduce.h and of argmax and argmin, for contiguous rows or columns. `totals` are
// partial results, in the type of the computation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/core/numbers/dtype.h"
#include "plait/cpu/inside/elementwise/cpu_kernels.h"
#include "plait/cpu/inside/reductions/cpu_reduce.h"

namespace plait::cpu {

struct ReduceKernel {
  ir::Reduction reduction;
  Reduced reduced;
  DType dtype;                       // dtype of the elements in memory
  int64_t element_size, total_size;  // bytes of an element in memory, and of a total

  // Sets totals to the neutral element.
  void (*clear)(std::byte* totals, int64_t count) = nullptr;
  // Accumulates `rows` rows of `count` elements; rows begin `stride` elements apart. add_rows adds
  // row r to totals[r], add_columns adds column c to totals[c].
  void (*add_rows)(const std::byte* x, int64_t rows, int64_t stride, int64_t count,
                   std::byte* totals);
  void (*add_columns)(const std::byte* x, int64_t rows, int64_t stride, int64_t count,
                      std::byte* totals);
  // totals[i] = totals[i] combined with more[i].
  void (*combine)(std::byte* totals, const std::byte* more, int64_t count);
  // Converts totals to elements, and stores them `stride` elements apart.
  void (*store)(const std::byte* totals, std::byte* out, int64_t stride, int64_t count);
};
using ReduceKernels = std::vector<ReduceKernel>;

extern const EachLevel<ReduceKernels> kReduceKernels;

// The kernel of the level in use, or null.
const ReduceKernel* find_reduce_kernel(ir::Reduction reduction, DType dtype,
                                       Reduced reduced = Reduced::elements);

}  // namespace plait::cpu
