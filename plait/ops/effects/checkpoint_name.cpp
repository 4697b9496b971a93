#include "plait/ops/effects/checkpoint_name.h"

#include "plait/core/error.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {

const ir::Primitive& checkpoint_name_primitive() {
  static const ir::Primitive& primitive = declare(
      {.primitive = {.name = "checkpoint_name",
                     .summary = "x, with a name by which remat can keep it.",
                     .oracle = "x itself",
                     .attributes = &ir::schema_of<CheckpointNameAttributes>(),
                     .operands = ir::exactly(1),
                     .elementwise = ir::Elementwise::same,
                     .numerics = {.accuracy = ir::Accuracy::exact},
                     .index_map = ir::identity_map},
       .rules = {.partials = {Partial::one()}},
       .evaluator = [](KernelCall& call, const void*) { call.results[0] = call.operands[0]; },
       .serves_devices = true});
  return primitive;
}

Tensor checkpoint_name(const Tensor& x, std::string_view name) {
  const Call call("checkpoint_name", x);
  if (name.empty()) throw ValueError("the name is empty").at(Location::of_caller());
  return apply(checkpoint_name_primitive(), {x},
               ir::Attributes::of(CheckpointNameAttributes{std::string(name)}));
}

void register_checkpoint_name() { checkpoint_name_primitive(); }

}  // namespace plait
