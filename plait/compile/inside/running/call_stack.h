// The calls that are running, each with a frame. They are on a list, not on the stack of the
// process, so that recursion may be deep.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/compile/inside/running/loaded_plan.h"
#include "plait/core/error.h"

namespace plait::compile {

class CallStack {
 public:
  CallStack(const LoadedPlan& loaded, const ArenaOptions& arena, size_t max_depth)
      : loaded_(loaded), arena_(arena), max_depth_(max_depth) {}

  size_t depth() const { return frames_.size(); }
  Frame& top() const { return *frames_.back(); }

  // Begins a call. Throws ValueError if calls are too deep, and ShapeError for sizes that the
  // function refuses.
  void enter(uint32_t function, std::span<const int64_t> sizes, std::span<ir::Value> arguments);
  // Ends the innermost call, whose results have been taken.
  void leave();

  // Adds the location of the step that failed, and its callers, where the error has none.
  void explain(Error& error) const;

 private:
  std::unique_ptr<Frame> frame_for(const std::shared_ptr<const BoundFunction>& bound) const;
  std::string callers() const;

  const LoadedPlan& loaded_;
  const ArenaOptions arena_;
  const size_t max_depth_;
  std::vector<std::unique_ptr<Frame>> frames_;
};

}  // namespace plait::compile
