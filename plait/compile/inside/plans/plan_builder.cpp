#include "plait/compile/inside/plans/plan_builder.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plait/compile/inside/plans/function_planner.h"
#include "plait/compile/pass.h"

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

// Finds results of single-stage nests that are stored where an operand is loaded, and nowhere else.
std::vector<PlannedKernel::Overwrite> overwrites_of(const PlannedKernel& kernel) {
  const Nest& nest = kernel.nest;
  const std::vector<uint32_t> stages = stages_of(nest);
  if (std::ranges::any_of(stages, [](uint32_t stage) { return stage > 0; })) return {};
  std::vector<PlannedKernel::Overwrite> found;
  std::vector<bool> is_taken(nest.parameters.size());
  for (uint32_t r = 0; r < nest.results.size(); ++r) {
    const NestResult& result = nest.results[r];
    if (result.reduction != ir::Reduction::none) continue;
    for (uint32_t p = 0; p < nest.parameters.size(); ++p) {
      const uint32_t operand = kernel.parameters[p];
      bool fits = !is_taken[p] && nest.parameters[p] == nest.values[result.value].dtype;
      if (const auto& product = kernel.product) {
        fits = fits && p != product->parameter && operand != product->a && operand != product->b;
      }
      for (const NestValue& value : nest.values) {
        if (value.kind != NestValue::Kind::load || value.parameter != p) continue;
        fits = fits && value.domains.empty() && same_place(value.place, result.place);
      }
      if (!fits) continue;
      is_taken[p] = true;
      found.push_back({r, operand});
      break;
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

PlanBuilder::PlanBuilder(const ir::Program& program)
    : program_(program),
      emits_(kernel_compiler() != nullptr && is_on("emit")),
      shares_memory_(is_on("plan")) {
  plan_.program = program;
}

Plan PlanBuilder::build() {
  function_of(0);
  for (size_t i = 0; i < planned_.size(); ++i) {
    plan_.functions.push_back(FunctionPlanner(*this, planned_[i]).run());
  }
  compile_kernels();
  if (is_dumped("plan")) dump(dump_text("plan", plan_.text()));
  return std::move(plan_);
}

uint32_t PlanBuilder::function_of(uint32_t index) {
  const auto [place, is_new] = numbers_.emplace(index, static_cast<uint32_t>(planned_.size()));
  if (is_new) planned_.push_back(index);
  return place->second;
}

uint32_t PlanBuilder::name_of(std::string_view name) {
  const auto [place, is_new] =
      names_.emplace(std::string(name), static_cast<uint32_t>(plan_.names.size()));
  if (is_new) plan_.names.emplace_back(name);
  return place->second;
}

uint32_t PlanBuilder::kernel_of(uint32_t index) {
  const auto [place, is_new] = kernels_.emplace(index, static_cast<uint32_t>(plan_.kernels.size()));
  if (!is_new) return place->second;
  PlannedKernel kernel{.function = program_.functions()[index]};
  RegionNest made = nest_of(*kernel.function);
  kernel.parameters.assign(made.parameters.begin(), made.parameters.end());
  kernel.product = product_in(*kernel.function, made);
  kernel.nest = std::move(made.nest);
  kernel.overwrites = overwrites_of(kernel);
  kernel.sizes = kernel.nest.sizes();
  plan_.kernels.push_back(std::move(kernel));
  return place->second;
}

void PlanBuilder::compile_kernels() {
  if (plan_.kernels.empty()) return;
  std::vector<Nest> nests;
  for (const PlannedKernel& kernel : plan_.kernels) nests.push_back(kernel.nest);
  const std::vector<CompiledKernel> compiled = kernel_compiler()->compile(nests);
  for (size_t i = 0; i < compiled.size(); ++i) plan_.kernels[i].code = compiled[i];
}

Plan plan_of(const ir::Program& program) { return PlanBuilder(program).build(); }

}  // namespace plait::compile
