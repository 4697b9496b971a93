#include "plait/compile/inside/running/call_stack.h"

#include <fmt/format.h>

#include "plait/ir/inside/evaluation/value_check.h"

namespace plait::compile {
namespace {

constexpr size_t kCallersShown = 4;

void check_sizes(const PlannedFunction& callee, std::span<const int64_t> sizes) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] >= 0) continue;
    throw ShapeError("@{}: size {} would be {}", callee.name, callee.size_parameters[i].name(),
                     sizes[i]);
  }
}

void check_facts(const PlannedFunction& callee, const SymbolMap<int64_t>& sizes) {
  for (const SizeFact& fact : callee.facts) {
    if (fact.evaluate(sizes)) continue;
    const Dim sides[] = {fact.left, fact.right};
    throw ShapeError("@{}: requires {}, but {}", callee.name, fact.text(),
                     ir::sizes_text(sides, sizes));
  }
}

}  // namespace

void CallStack::enter(uint32_t function, std::span<const int64_t> sizes,
                      std::span<ir::Value> arguments) {
  const PlannedFunction& callee = loaded_.plan().functions[function];
  if (frames_.size() >= max_depth_) {
    throw ValueError("@{}: calls are nested deeper than {}", callee.name, max_depth_)
        .hint("set max_depth if the recursion is meant to be so deep");
  }
  check_sizes(callee, sizes);
  const auto bound = loaded_.bound(function, sizes);
  check_facts(callee, bound->named);
  frames_.push_back(frame_for(bound));
  Frame& frame = top();
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    frame.value(callee.parameters[i]) = std::move(arguments[i]);
  }
}

std::unique_ptr<Frame> CallStack::frame_for(
    const std::shared_ptr<const BoundFunction>& bound) const {
  std::unique_ptr<Frame> frame;
  if (!arena_.is_guarded) frame = loaded_.take_frame(bound);
  if (!frame) frame = std::make_unique<Frame>(bound, arena_);
  frame->begin();
  return frame;
}

void CallStack::leave() {
  frames_.back()->memory.expect_untouched();
  if (!arena_.is_guarded) loaded_.give_back(std::move(frames_.back()));
  frames_.pop_back();
}

void CallStack::explain(Error& error) const {
  if (frames_.empty()) return;
  const Step* const step = top().step();
  if (!error.location().known() && step != nullptr) error.set_location(step->location);
  if (error.context().empty()) error.set_context(callers());
}

std::string CallStack::callers() const {
  std::string text;
  size_t shown = 0;
  for (size_t i = frames_.size(); i-- > 0; ++shown) {
    if (shown == kCallersShown && i > 0) {
      text += fmt::format(", {} more calls", i);
      i = 0;
    }
    const Frame& frame = *frames_[i];
    const Step* const step = frame.step();
    const std::string& name = step != nullptr && step->function
                                  ? loaded_.plan().names[*step->function]
                                  : frame.function().name;
    text += fmt::format("{}@{}", shown == 0 ? "in " : ", called by ", name);
    if (shown > 0 && step != nullptr && step->location.known()) {
      text += " (" + step->location.text() + ")";
    }
  }
  return text;
}

}  // namespace plait::compile
