// `remat`: on tensors (derivatives/remat.h), and for many samples. In traces: staged_remat.h.
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/derivatives/lifted_draws.h"
#include "plait/transform/inside/forms/calls/call_forms.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/forms/remat/staged_remat.h"
#include "plait/transform/inside/forms/staged.h"
#include "plait/transform/inside/running/key_draws.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {
namespace {

std::vector<Tensor> run_remat(const OnTensors& here) {
  TensorRun& run = *here.run;
  const ir::Function& called = run.callee(here.instruction);
  std::vector<Tensor> arguments = as_declared(called, here.operands);
  if (run.options().in_place_of) return run.function(called, arguments);
  const RematPolicy& policy = here.instruction.attributes_as<RematPolicy>();
  const StagedFunction staged{run.program(), &called};
  if (run.options().draw_key && draws_keys(run.program())) {
    arguments.push_back(run.options().draw_key());
    return remat_tensors(with_key(staged), arguments, policy);
  }
  if (policy.policy != "everything" && Trace::current() != nullptr) {
    return run_staged_remat(staged, arguments, policy);
  }
  return remat_tensors([&](auto given) { return staged(given); }, arguments, policy);
}

std::vector<Tensor> stage_remat(const OnTensors& here) {
  if (here.run->stays_a_call(here.run->callee(here.instruction))) return stage_recursive_call(here);
  return run_remat(here);
}

std::vector<BatchedValue> batch_remat(const OnSamples& here) {
  const TensorFunction called =
      here.run.for_all_samples(here.run.callee(here.instruction), flags_of(here.operands));
  return with_flags(remat_tensors(called, tensors_in(here.operands),
                                  here.instruction.attributes_as<RematPolicy>()),
                    here.run.samples().which_may_differ(here.instruction.result_types()));
}

}  // namespace

namespace forms {

extern constexpr Form kRemat{.run = run_remat, .stage = stage_remat, .batch = batch_remat};

}  // namespace forms
}  // namespace plait
