// From functions to steps.
#pragma once

#include <unordered_map>

#include "plait/compile/inside/plans/plan.h"
#include "plait/ir/analysis/call_graph.h"

namespace plait::compile {

// Assigns each register its storage and its cell, and marks the last reads (storage.cpp).
void assign_storage(PlannedFunction& function, bool shares_memory);

class PlanBuilder {
 public:
  explicit PlanBuilder(const ir::Program& program);
  Plan build();

 private:
  friend class FunctionPlanner;

  uint32_t function_of(uint32_t index);  // index in the plan
  uint32_t name_of(std::string_view name);
  uint32_t kernel_of(uint32_t index);
  void compile_kernels();

  Plan plan_;
  const ir::Program& program_;
  std::vector<uint32_t> planned_;  // functions of the program, in the plan's order
  std::unordered_map<uint32_t, uint32_t> numbers_, kernels_;
  std::unordered_map<std::string, uint32_t> names_;
  const bool emits_, shares_memory_;
};

}  // namespace plait::compile
