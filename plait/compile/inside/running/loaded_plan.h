// A plan with its constants, and with what earlier calls leave to later ones: functions bound to
// sizes, and frames. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plait/compile/inside/running/frame.h"
#include "plait/core/inside/system/recent_cache.h"

namespace plait::compile {

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
  using BoundFunctions = RecentList<std::shared_ptr<const BoundFunction>>;

  Plan plan_;
  std::vector<ir::Value> constants_;
  mutable std::mutex mutex_;
  mutable std::vector<BoundFunctions> bound_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace plait::compile
