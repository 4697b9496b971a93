// Callees within open named axes: the results of an instruction must vary along the same axes in
// every branch, and at each step of a loop.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait {

std::vector<ir::AxisSet> axes_of_results(const StagedFunction& function);
// Records the function again for parameters of these types, which may vary along other axes.
StagedFunction of_types(const StagedFunction& function, std::span<const ir::Type> parameters);
// Returns the function with its first results varying at least along these axes.
StagedFunction with_results_along(const StagedFunction& function,
                                  std::span<const ir::AxisSet> axes);
// Makes the value vary along the axes of that type, which include its own.
Tensor as_varying_as(const Tensor& x, const ir::Type& type);

// Makes operands vary along more axes, up to a fixed point: `wanted` returns the axes that each
// operand should vary along, given the operands' types.
template <class Wanted>
void vary_until_settled(std::vector<Tensor>& operands, const Wanted& wanted) {
  for (bool changes = true; changes;) {
    changes = false;
    const std::vector<ir::AxisSet> axes = wanted(ir_types_of(operands));
    for (size_t i = 0; i < operands.size(); ++i) {
      const Tensor before = operands[i];
      operands[i] = vary_along(before, axes[i]);
      changes = changes || operands[i].identity() != before.identity();
    }
  }
}

}  // namespace plait
