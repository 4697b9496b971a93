// The levels of derivatives around a trace. A recorded function is differentiated as a whole where
// it is called, so nothing is followed inside.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>

#include "plait/ir/builder.h"
#include "plait/tensor/tensor.h"
#include "plait/tensor/tracing/level.h"

namespace plait {

class TraceLevels {
 public:
  // Pauses the levels that are open now, until `close`.
  LevelPause& pause() { return *pause_; }
  // The level of the default tape while the trace is open.
  const LevelPtr& tape();
  void close();
  // True if a derivative is taken outside with respect to one of these tensors.
  bool are_followed_outside(std::span<const Tensor> tensors);

  // True within a no_grad that began inside of the trace.
  bool is_under_no_grad() const { return NoGrad::depth() > no_grads_; }
  // A value that was recorded under no_grad and is used outside of it: it stays constant when the
  // function is differentiated.
  ir::ValueId stopped(const TracedValue& traced, ir::FunctionBuilder& builder);
  void forget_values() { stopped_.clear(); }

 private:
  std::optional<LevelPause> pause_{std::in_place};
  const int no_grads_ = NoGrad::depth();                  // outside of the trace
  std::unordered_map<ir::ValueId, ir::ValueId> stopped_;  // stop_gradient of those under no_grad
  LevelPtr tape_;                                         // null until first used
};

// The primitive by which a trace stops derivatives. Defined in `ops`.
const ir::Primitive& stop_gradient_primitive();

}  // namespace plait
