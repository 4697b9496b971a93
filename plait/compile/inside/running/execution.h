// Executes plans. Frames of calls are on a list, not on the stack of the process.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "plait/compile/inside/running/bound_plan.h"
#include "plait/compile/inside/running/plan_memory.h"
#include "plait/ir/value.h"
#include "plait/tensor/memory/array.h"

namespace plait::compile {

struct Frame {
  std::shared_ptr<const BoundFunction> bound;
  std::vector<ir::Value> cells;
  std::vector<int64_t> counters;
  Buffer memory;
  std::vector<GuardedBlock> guarded;  // of each register, in place of `memory`
  std::shared_ptr<WorkMemory> work;   // of the entry
  SymbolMap<int64_t> sizes;
  uint32_t next = 0;  // step
};

// A plan with its constants and caches.
class LoadedPlan {
 public:
  explicit LoadedPlan(Plan plan);

  const Plan& plan() const { return plan_; }
  const ir::Value& constant(uint32_t i) const { return constants_[i]; }
  std::shared_ptr<const BoundFunction> bound(uint32_t function,
                                             std::span<const int64_t> sizes) const;
  // Frames of the entry, with their memory, are reused by later calls.
  std::unique_ptr<Frame> take_frame(const std::shared_ptr<const BoundFunction>& bound) const;
  void give_back(std::unique_ptr<Frame> frame) const;

 private:
  Plan plan_;
  std::vector<ir::Value> constants_;
  mutable std::mutex mutex_;
  mutable std::vector<std::vector<std::shared_ptr<const BoundFunction>>> bound_;  // latest first
  mutable std::vector<std::unique_ptr<Frame>> frames_;
};

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
