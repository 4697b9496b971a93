#include "plait/tensor/inside/tracing/trace_levels.h"

#include "plait/ir/structure.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {

const LevelPtr& TraceLevels::tape() {
  if (!tape_) tape_ = Level::open_of_tape();
  return tape_;
}

void TraceLevels::close() {
  pause_.reset();
  if (tape_) tape_->close();
}

bool TraceLevels::are_followed_outside(std::span<const Tensor> tensors) {
  const LevelPause::Break followed(*pause_);
  return is_followed(tensors);
}

ir::ValueId TraceLevels::stopped(const TracedValue& traced, ir::FunctionBuilder& builder) {
  if (!traced.type.is_array() || !ir::has_tangent(traced.type)) return traced.value;
  const auto [place, is_new] = stopped_.try_emplace(traced.value, 0);
  if (is_new) place->second = builder.add(stop_gradient_primitive(), {traced.value});
  return place->second;
}

}  // namespace plait
