#include "plait/compile/inside/running/loaded_plan.h"

#include <algorithm>

#include "plait/compile/inside/running/small_loops.h"
#include "plait/tensor/array_machine.h"

namespace plait::compile {
namespace {

// Sizes of one function for which bound functions are cached.
constexpr size_t kMostBound = 64;
constexpr size_t kMostFrames = 8;

}  // namespace

LoadedPlan::LoadedPlan(Plan plan)
    : plan_(std::move(plan)), bound_(plan_.functions.size(), BoundFunctions(kMostBound)) {
  for (const Literal& literal : plan_.constants) {
    constants_.push_back(TensorMachine::value_of(Array::of(literal)));
  }
}

std::shared_ptr<const BoundFunction> LoadedPlan::bound(uint32_t function,
                                                       std::span<const int64_t> sizes) const {
  {
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<const BoundFunction>* const known = bound_[function].find(
        [&](const auto& each) { return std::ranges::equal(each->sizes, sizes); });
    if (known != nullptr) return *known;
  }
  BoundFunction made = bound_function(plan_.functions[function], plan_.kernels, sizes);
  made.small_loops = small_loops_of(made);
  const std::lock_guard lock(mutex_);
  return bound_[function].add(std::make_shared<const BoundFunction>(std::move(made)));
}

std::unique_ptr<Frame> LoadedPlan::take_frame(
    const std::shared_ptr<const BoundFunction>& bound) const {
  const std::lock_guard lock(mutex_);
  for (auto& frame : frames_) {
    if (frame->bound() != bound) continue;
    std::swap(frame, frames_.back());
    std::unique_ptr<Frame> taken = std::move(frames_.back());
    frames_.pop_back();
    return taken;
  }
  return nullptr;
}

void LoadedPlan::give_back(std::unique_ptr<Frame> frame) const {
  frame->clear();
  std::unique_ptr<Frame> oldest;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  frames_.push_back(std::move(frame));
  if (frames_.size() <= kMostFrames) return;
  oldest = std::move(frames_.front());
  frames_.erase(frames_.begin());
}

}  // namespace plait::compile
