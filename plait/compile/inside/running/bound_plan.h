// A planned function with known sizes: the types of each step's results, and the offset of each
// register in the frame.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "plait/compile/inside/plans/plan.h"
#include "plait/tensor/kernels.h"

namespace plait::compile {

// True if the sizes of all symbols in it are known.
bool is_known(Dim dim, const SymbolMap<int64_t>& sizes);
int64_t number(Dim dim, const SymbolMap<int64_t>& sizes);
ArrayType bound_type(const ir::Type& array, const SymbolMap<int64_t>& sizes);

// The sizes of a step that computes arrays, as numbers.
struct BoundStep {
  std::vector<ArrayType> types = {};  // types of the results
  ir::Attributes attributes = {};     // attributes of an operation
  KernelSizes kernel = {};
};
BoundStep bound_step(const KernelStep& step, const SymbolMap<int64_t>& sizes);
BoundStep bound_step(const Operation& operation, const SymbolMap<int64_t>& sizes);
BoundStep bound_step(const BeginScanStep& step, const SymbolMap<int64_t>& sizes);

struct BoundFunction {
  const PlannedFunction* function = nullptr;
  std::vector<int64_t> sizes;
  SymbolMap<int64_t> named;
  // Empty for a step with data-dependent sizes, and for one that computes no arrays.
  std::vector<std::optional<BoundStep>> steps;
  std::vector<int64_t> offsets;  // offsets of each register, in bytes; -1 if it is not in the frame
  int64_t frame_bytes = 0;
  std::vector<bool> small_loops = {};  // one a loop, set by LoadedPlan (small_loops.h)
};
BoundFunction bound_function(const PlannedFunction& function,
                             std::span<const PlannedKernel> kernels,
                             std::span<const int64_t> sizes);

}  // namespace plait::compile
