#include "plait/transform/inside/batching/varying.h"

#include <algorithm>

namespace plait {

std::vector<ir::AxisSet> axes_of_results(const StagedFunction& function) {
  std::vector<ir::AxisSet> axes;
  for (const ir::Type& type : function.function->signature().results) {
    axes.push_back(type.all_varying());
  }
  return axes;
}

StagedFunction of_types(const StagedFunction& function, std::span<const ir::Type> parameters) {
  if (std::ranges::equal(function.function->signature().parameters, parameters)) return function;
  return stage(function.function->name(), parameters, function);
}

StagedFunction with_results_along(const StagedFunction& function,
                                  std::span<const ir::AxisSet> axes) {
  const std::vector<ir::AxisSet> known = axes_of_results(function);
  const auto is_enough = [](const ir::AxisSet& wanted, const ir::AxisSet& has) {
    return has.contains(wanted);
  };
  if (std::equal(axes.begin(), axes.end(), known.begin(), is_enough)) return function;
  const ir::Function& one = *function.function;
  return stage(one.name(), one.signature().parameters, [&](std::span<const Tensor> given) {
    std::vector<Tensor> results = function(given);
    for (size_t i = 0; i < axes.size(); ++i) results[i] = vary_along(results[i], axes[i]);
    return results;
  });
}

Tensor as_varying_as(const Tensor& x, const ir::Type& type) {
  return x && has_open_axes() && type.is_array() ? vary_along(x, type.varying()) : x;
}

}  // namespace plait
