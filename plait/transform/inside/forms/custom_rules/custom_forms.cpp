// `custom_vjp` and `custom_jvp`: on tensors and in traces (staged_custom.h), and for many samples,
// where the rule of one sample is batched.
#include "plait/ir/structure.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/forms/custom_rules/staged_custom.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {
namespace {

StagedFunction staged_callee(const OnTensors& here, size_t i) {
  return {here.run->program(), &here.run->callee(here.instruction, i)};
}

std::vector<Tensor> run_vjp(const OnTensors& here) {
  return run_custom_vjp(staged_callee(here, 0), staged_callee(here, 1), staged_callee(here, 2),
                        as_declared(here.run->callee(here.instruction), here.operands));
}

std::vector<Tensor> run_jvp(const OnTensors& here) {
  return run_custom_jvp(staged_callee(here, 0), staged_callee(here, 1),
                        as_declared(here.run->callee(here.instruction), here.operands));
}

// ---- For many samples.

// True if no rule is needed: the function itself runs.
bool needs_no_rule(std::span<const Tensor> operands) {
  return !is_followed(operands) && Trace::current() == nullptr;
}

// Records callee i for all samples.
StagedFunction stage_callee(const OnSamples& here, size_t i, std::span<const ir::Type> parameters,
                            const std::vector<bool>& batched) {
  const ir::Function& called = here.run.callee(here.instruction, i);
  return stage(called.name(), parameters, here.run.for_all_samples(called, batched));
}

std::vector<BatchedValue> batch_jvp(const OnSamples& here) {
  const std::vector<Tensor> tensors = tensors_in(here.operands);
  const ir::Function& called = here.run.callee(here.instruction);
  if (needs_no_rule(tensors)) return here.run.function(called, here.operands);
  const std::vector<bool> batched = flags_of(here.operands);
  const std::vector<ir::Type> types = ir_types_of(tensors);
  std::vector<bool> with_tangents = batched;
  std::vector<ir::Type> taken = types;
  const size_t parameters = here.run.callee(here.instruction, 1).parameter_count();
  for (size_t i = 0; taken.size() < parameters; ++i) {
    if (!is_inexact(types[i].dtype())) continue;
    with_tangents.push_back(batched[i]);
    taken.push_back(types[i]);
  }
  return with_flags(run_custom_jvp(stage_callee(here, 0, types, batched),
                                   stage_callee(here, 1, taken, with_tangents), tensors),
                    here.run.samples().which_may_differ(here.instruction.result_types()));
}

std::vector<BatchedValue> batch_vjp(const OnSamples& here) {
  const std::vector<Tensor> tensors = tensors_in(here.operands);
  const ir::Function& called = here.run.callee(here.instruction);
  if (needs_no_rule(tensors)) return here.run.function(called, here.operands);
  const Samples& samples = here.run.samples();
  const std::vector<bool> batched = flags_of(here.operands);
  const std::vector<ir::Type> types = ir_types_of(tensors);
  const StagedFunction function = stage_callee(here, 0, types, batched);
  const StagedFunction forward = stage_callee(here, 1, types, batched);
  const auto& given = forward.function->signature().results;
  const size_t count = function.function->signature().results.size();
  std::vector<ir::Type> sent(given.begin() + static_cast<std::ptrdiff_t>(count), given.end());
  for (size_t i = 0; i < count; ++i) {
    if (is_inexact(given[i].dtype())) sent.push_back(given[i]);
  }
  const ir::Function& rule = here.run.callee(here.instruction, 2);
  const TensorFunction back =
      here.run.for_all_samples(rule, samples.which_may_differ(rule.signature().parameters));
  const std::vector<bool> own = samples.which_may_differ(rule.signature().results);
  const StagedFunction backward = stage(rule.name(), sent, [&](std::span<const Tensor> cotangents) {
    std::vector<Tensor> found = back(cotangents);
    for (size_t i = 0, next = 0; next < own.size(); ++i) {
      if (!is_inexact(types[i].dtype())) continue;
      // The cotangent of a shared operand is the sum over all samples.
      if (!batched[i] && own[next]) found[next] = sum(found[next], 0);
      ++next;
    }
    return found;
  });
  return with_flags(run_custom_vjp(function, forward, backward, tensors),
                    samples.which_may_differ(here.instruction.result_types()));
}

}  // namespace

namespace forms {

extern constexpr Form kCustomVjp{.run = run_vjp, .batch = batch_vjp, .follow = {.has_rule = true}};
extern constexpr Form kCustomJvp{.run = run_jvp, .batch = batch_jvp, .follow = {.has_rule = true}};

}  // namespace forms
}  // namespace plait
