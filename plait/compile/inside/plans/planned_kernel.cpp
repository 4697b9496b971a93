#include "plait/compile/inside/plans/planned_kernel.h"

#include <algorithm>

namespace plait::compile {
namespace {

// The stage of each value: the number of traversals of the columns before it is known.
std::vector<uint32_t> stages_of(const Nest& nest) {
  std::vector<uint32_t> stages;
  for (const NestValue& value : nest.values) {
    uint32_t stage = 0;
    for (const uint32_t operand : value.operands) stage = std::max(stage, stages[operand]);
    stages.push_back(stage + (value.kind == NestValue::Kind::reduce ? 1 : 0));
  }
  return stages;
}

bool same_place(const Affine& a, const Affine& b) {
  return same(a.offset, b.offset) && std::ranges::equal(a.strides, b.strides, kSame);
}

// Finds results of single-stage nests that are stored where an operand is loaded, and nowhere else:
// all pairs, of which those are chosen whose operands may be overwritten in a run.
std::vector<PlannedKernel::Overwrite> overwrites_of(const PlannedKernel& kernel) {
  const Nest& nest = kernel.nest;
  const std::vector<uint32_t> stages = stages_of(nest);
  if (std::ranges::any_of(stages, [](uint32_t stage) { return stage > 0; })) return {};
  std::vector<PlannedKernel::Overwrite> found;
  for (uint32_t r = 0; r < nest.results.size(); ++r) {
    const NestResult& result = nest.results[r];
    if (result.reduction != ir::Reduction::none) continue;
    for (uint32_t p = 0; p < nest.parameters.size(); ++p) {
      const uint32_t operand = kernel.parameters[p];
      bool fits = nest.parameters[p] == nest.values[result.value].dtype;
      if (const auto& product = kernel.product) {
        fits = fits && p != product->parameter && operand != product->a && operand != product->b;
      }
      for (const NestValue& value : nest.values) {
        if (value.kind != NestValue::Kind::load || value.parameter != p) continue;
        fits = fits && value.domains.empty() && same_place(value.place, result.place);
      }
      if (fits) found.push_back({r, operand});
    }
  }
  return found;
}

std::optional<PlannedKernel::Product> product_in(const ir::Function& function,
                                                 const RegionNest& region) {
  const Roles roles(function);
  const auto product = product_of(roles);
  if (!product) return std::nullopt;
  const auto place = std::ranges::find(region.parameters, product->result());
  const auto rounding = rounding_of(function, *product);
  return PlannedKernel::Product{
      .a = product->operands()[0],
      .b = rounding ? rounding->operands()[0] : product->operands()[1],
      .parameter = static_cast<uint32_t>(place - region.parameters.begin()),
      .is_result =
          std::ranges::find(function.results(), product->result()) != function.results().end(),
      .dtype = product->result_types()[0].dtype()};
}

}  // namespace

PlannedKernel planned_kernel(std::shared_ptr<const ir::Function> function) {
  PlannedKernel kernel{.function = std::move(function)};
  RegionNest made = nest_of(*kernel.function);
  kernel.parameters.assign(made.parameters.begin(), made.parameters.end());
  kernel.product = product_in(*kernel.function, made);
  kernel.nest = std::move(made.nest);
  kernel.overwrites = overwrites_of(kernel);
  kernel.sizes = kernel.nest.sizes();
  return kernel;
}

}  // namespace plait::compile
