// The kernels behind cpu_reduce.h and the search for extremes: rows and columns of dense elements,
// whose reductions so far are `totals`, numbers of the type that is computed with.
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
  DType dtype;                       // of the elements in memory
  int64_t element_size, total_size;  // of what is in memory, and of a total

  // totals[…] = the reduction of nothing.
  void (*clear)(std::byte* totals, int64_t count) = nullptr;
  // What is in `rows` rows of `count` elements, of which neighbours begin `stride` elements apart,
  // joins the totals: totals[r] that of row r, or totals[c] that of column c.
  void (*add_rows)(const std::byte* x, int64_t rows, int64_t stride, int64_t count,
                   std::byte* totals);
  void (*add_columns)(const std::byte* x, int64_t rows, int64_t stride, int64_t count,
                      std::byte* totals);
  // totals[i] joined by more[i].
  void (*combine)(std::byte* totals, const std::byte* more, int64_t count);
  // As elements, `stride` of them apart.
  void (*store)(const std::byte* totals, std::byte* out, int64_t stride, int64_t count);
};
using ReduceKernels = std::vector<ReduceKernel>;

extern const EachLevel<ReduceKernels> kReduceKernels;

// At the level in use; null where there is none.
const ReduceKernel* find_reduce_kernel(ir::Reduction reduction, DType dtype,
                                       Reduced reduced = Reduced::elements);

}  // namespace plait::cpu
