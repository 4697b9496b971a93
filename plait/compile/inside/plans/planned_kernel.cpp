#include "plait/compile/inside/plans/planned_kernel.h"

#include <algorithm>

#include "plait/compile/inside/plans/masked_columns.h"

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
  if (!kernel.trailing.empty()) return {};  // rows of one block are read after the next is written
  const std::vector<uint32_t> stages = stages_of(nest);
  if (std::ranges::any_of(stages, [](uint32_t stage) { return stage > 0; })) return {};
  std::vector<PlannedKernel::Overwrite> found;
  for (uint32_t r = 0; r < nest.results.size(); ++r) {
    const NestResult& result = nest.results[r];
    if (result.reduction != ir::Reduction::none) continue;
    for (uint32_t p = 0; p < nest.parameters.size(); ++p) {
      const uint32_t operand = kernel.parameters[p];
      bool fits = nest.parameters[p] == nest.values[result.value].dtype;
      for (const PlannedKernel::Product& product : kernel.products) {
        fits = fits && p != product.parameter && operand != product.a && operand != product.b;
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

uint32_t place_of(ir::ValueId value, std::span<const ir::ValueId> values) {
  return static_cast<uint32_t>(std::ranges::find(values, value) - values.begin());
}

PlannedKernel::Product planned_product(const ir::Function& function, const RegionNest& region,
                                       const ir::Instruction& product) {
  const auto rounding = rounding_of(function, product);
  return {.a = product.operands()[0],
          .b = rounding ? rounding->operands()[0] : product.operands()[1],
          .parameter = place_of(product.result(), region.parameters),
          .is_result =
              std::ranges::find(function.results(), product.result()) != function.results().end(),
          .dtype = product.result_types()[0].dtype()};
}

void find_needs(PlannedKernel& kernel) {
  std::vector<uint32_t> products, rows;
  for (const PlannedKernel::Product& product : kernel.products)
    products.push_back(product.parameter);
  for (const PlannedKernel::Trailing& trailing : kernel.trailing) rows.push_back(trailing.rows);
  kernel.needs = column_needs(kernel.nest, products, rows);
  find_maximum(kernel.nest, kernel.needs, products, kernel.result_count);
}

}  // namespace

PlannedKernel planned_kernel(std::shared_ptr<const ir::Function> function) {
  PlannedKernel kernel{.function = std::move(function)};
  KernelRegion region = kernel_region(*kernel.function);
  RegionNest& loops = region.loops;
  kernel.parameters.assign(loops.parameters.begin(), loops.parameters.end());
  for (const ir::Instruction& product : region.products) {
    kernel.products.push_back(planned_product(*kernel.function, loops, product));
  }
  for (const ir::Instruction& draw : region.draws) {
    kernel.draws.push_back({draw.operands()[0], place_of(draw.result(), loops.parameters)});
  }
  for (const auto& [product, operands] : region.trailing) {
    kernel.trailing.push_back({operands.kind, place_of(operands.rows, region.results),
                               operands.other,
                               place_of(product.result(), kernel.function->results())});
  }
  kernel.result_count = region.own_results;
  kernel.nest = std::move(loops.nest);
  if (!kernel.trailing.empty()) find_needs(kernel);
  kernel.overwrites = overwrites_of(kernel);
  kernel.sizes = kernel.nest.sizes();
  return kernel;
}

}  // namespace plait::compile
