// Recorded functions as callees, where named axes are open: what an instruction gives must vary
// along the same axes whichever branch is taken, and at each step of a loop.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/inside/control/staged.h"

namespace plait {

inline bool has_open_axes() { return !NamedAxisScope::open().empty(); }

std::vector<ir::AxisSet> axes_of_results(const StagedFunction& function);
// The function once more, of parameters of these types, which may vary along other axes.
StagedFunction of_types(const StagedFunction& function, std::span<const ir::Type> parameters);
// The function whose first results vary along these axes at least.
StagedFunction with_results_along(const StagedFunction& function,
                                  std::span<const ir::AxisSet> axes);
// The value as one of that type: of fewer axes.
Tensor as_varying_as(const Tensor& x, const ir::Type& type);

// Makes operands vary along more axes until `wanted`, asked for what each one should vary along
// where they have these types, no longer says so.
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
