#include "plait/compile/inside/plans/plan_parts.h"

namespace plait::compile {
namespace {

void compile_kernels(std::vector<PlannedKernel>& kernels, const Target& target) {
  std::vector<std::shared_ptr<const FusedKernel>> compiled = target.compile(kernels);
  for (size_t i = 0; i < compiled.size(); ++i) kernels[i].compiled = std::move(compiled[i]);
}

}  // namespace

uint32_t PlanParts::function_of(uint32_t index) {
  const auto [place, is_new] =
      function_numbers_.emplace(index, static_cast<uint32_t>(functions_.size()));
  if (is_new) functions_.push_back(index);
  return place->second;
}

uint32_t PlanParts::kernel_of(uint32_t index) {
  const auto [place, is_new] =
      kernel_numbers_.emplace(index, static_cast<uint32_t>(kernels_.size()));
  if (is_new) kernels_.push_back(planned_kernel(program_.functions()[index]));
  return place->second;
}

uint32_t PlanParts::name_of(const std::string& name) {
  const auto [place, is_new] = name_numbers_.emplace(name, static_cast<uint32_t>(names_.size()));
  if (is_new) names_.push_back(name);
  return place->second;
}

uint32_t PlanParts::constant_of(const Literal& value) {
  constants_.push_back(value);
  return static_cast<uint32_t>(constants_.size() - 1);
}

Plan PlanParts::finish(std::vector<PlannedFunction> functions, bool only_planned) && {
  if (!kernels_.empty() && !only_planned) compile_kernels(kernels_, *target_);
  return {.program = program_,
          .functions = std::move(functions),
          .kernels = std::move(kernels_),
          .constants = std::move(constants_),
          .names = std::move(names_)};
}

}  // namespace plait::compile
