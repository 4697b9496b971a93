// Shared by the functions of a plan: their numbers, names, kernels and constants. Each is made
// once, when the first step needs it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "plait/compile/inside/plans/plan.h"

namespace plait::compile {

class PlanParts {
 public:
  PlanParts(const ir::Program& program, const Target* target)
      : program_(program), target_(target) {}

  const ir::Program& program() const { return program_; }
  // Indices in the plan, of functions given by their indices in the program.
  uint32_t function_of(uint32_t index);
  uint32_t kernel_of(uint32_t index);
  uint32_t name_of(const std::string& name);
  uint32_t constant_of(const Literal& value);

  // The functions that the plan needs so far, in its order.
  const std::vector<uint32_t>& functions() const { return functions_; }
  const PlannedKernel& kernel(uint32_t kernel) const { return kernels_[kernel]; }
  // The plan, with its kernels compiled unless it is `only_planned`.
  Plan finish(std::vector<PlannedFunction> functions, bool only_planned) &&;

 private:
  const ir::Program& program_;
  const Target* target_;  // there are no kernels without one
  std::vector<uint32_t> functions_;
  std::vector<PlannedKernel> kernels_;
  std::vector<Literal> constants_;
  std::vector<std::string> names_;
  std::unordered_map<uint32_t, uint32_t> function_numbers_, kernel_numbers_;
  std::unordered_map<std::string, uint32_t> name_numbers_;
};

}  // namespace plait::compile
