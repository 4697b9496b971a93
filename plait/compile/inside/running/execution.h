// Executes plans. Frames of calls are on a list, not on the stack of the process.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/compile/inside/running/loaded_plan.h"

namespace plait::compile {

struct FailedPlanGuard {
  size_t number;  // number of guards that were passed before
  std::string message;
};

class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void before(const PlannedFunction& function, const Step& step, const Frame& frame) = 0;
  virtual void after(const PlannedFunction& function, const Step& step, const Frame& frame) = 0;
};

struct ExecutionOptions {
  size_t max_depth = 4'000'000;
  // Rounds of a small loop that run step by step, before the arguments of its kernels are made once
  // for all others (small_loop.h).
  uint32_t first_rounds = 2;
  // Called if a guard fails; if it returns, a CheckError is thrown.
  std::function<void(const FailedPlanGuard&)> on_guard = {};
  // Observes the operands and results of each step (compare.h).
  StepObserver* observer = nullptr;
  // If empty, the setting `arena` applies.
  std::optional<ArenaOptions> arena = {};
};

struct ExecutionResults {
  std::vector<ir::Value> values;
  std::vector<int64_t> sizes;
};

// The arguments have the types of the entry's parameters; donated ones may be overwritten.
ExecutionResults execute(const LoadedPlan& plan, std::span<const int64_t> sizes,
                         std::vector<ir::Value> arguments, const ExecutionOptions& options = {});

}  // namespace plait::compile
