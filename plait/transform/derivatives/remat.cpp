#include "plait/transform/derivatives/remat.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/effects/checkpoint_name.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/inside/effect_log.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/derivatives/recording.h"
#include "plait/transform/inside/forms/remat/staged_remat.h"

namespace plait {

Sketch::Keeps keeps_of(const RematPolicy& policy) {
  if (policy.policy == "nothing") return store_nothing;
  if (policy.policy == "dots") {
    return [](const ir::Primitive& primitive, const ir::Attributes&) {
      return primitive.numerics.precision == ir::Precision::narrow;  // products
    };
  }
  if (policy.policy == "names") {
    return
        [names = policy.names](const ir::Primitive& primitive, const ir::Attributes& attributes) {
          if (&primitive != &checkpoint_name_primitive()) return false;
          const std::string& name = attributes.as<CheckpointNameAttributes>().label;
          return std::ranges::find(names, name) != names.end();
        };
  }
  throw ValueError("remat: unknown policy \"{}\"", policy.policy)
      .at(Location::of_caller())
      .hint("the policies are nothing, everything, dots and names");
}

std::vector<Tensor> remat_tensors(const TensorFunction& f, std::span<const Tensor> arguments,
                                  const RematPolicy& policy) {
  if (policy.policy == "everything") return f(arguments);
  if (Trace::current() != nullptr) {
    StagedFunction staged = stage("remat", ir_types_of(arguments), f, {.beside = arguments});
    std::vector<Tensor> operands(arguments.begin(), arguments.end());
    operands.insert(operands.end(), staged.captures.begin(), staged.captures.end());
    return run_staged_remat(std::move(staged), operands, policy);
  }
  EffectLog log;
  try {
    const EffectLog::Scope effects(log);
    Sketch sketch(keeps_of(policy));
    std::vector<Tensor> results = f(arguments);
    sketch.end();
    return replace_by_one_step(sketch, std::move(results));
  } catch (const NeedsAllKept&) {
    log.rewind();
    const EffectLog::Scope effects(log);
    return f(arguments);
  }
}

}  // namespace plait
