// `call`, and `pull`, the call of a reverse derivative. The callee runs in place; in traces a call
// of a recursive function remains a call.
#include "plait/transform/inside/forms/calls/call_forms.h"

#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/trace_scopes.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/forms/calls/batched_recursion.h"
#include "plait/transform/inside/forms/calls/staged_recursion.h"
#include "plait/transform/inside/running/key_draws.h"
#include "plait/transform/inside/running/tensor_run.h"

namespace plait {

std::vector<Tensor> stage_recursive_call(const OnTensors& here) {
  TensorRun& run = *here.run;
  const ir::Function& called = run.callee(here.instruction);
  const std::vector<Tensor> arguments = as_declared(called, here.operands);
  const RecursiveFunction function(run.program(), called);
  if (run.options().draw_key && draws_keys(run.program(), called)) {
    return run_recursive_with_key(function, arguments, run.options().draw_key());
  }
  return run_recursive(function, arguments);
}

namespace {

std::vector<Tensor> run_call(const OnTensors& here) {
  const ir::Function& called = here.run->callee(here.instruction);
  const std::vector<Tensor> arguments = as_declared(called, here.operands);
  const Trace::Part part(called.name());
  return here.run->function(called, arguments);
}

std::vector<Tensor> stage_call(const OnTensors& here) {
  const bool stays = here.run->stays_a_call(here.run->callee(here.instruction));
  return stays ? stage_recursive_call(here) : run_call(here);
}

// The function that a `pull` calls, which knows of what it is the derivative.
template <class Run>
RecursiveFunction derivative_of_pull(const Run& run, const ir::Instruction& instruction) {
  return RecursiveFunction(run.program(), run.callee(instruction))
      .derivative_of({run.program(), run.callee(instruction, 1)},
                     instruction.attributes_as<ir::PullAttributes>().wanted);
}

std::vector<Tensor> run_pull(const OnTensors& here) {
  return here.run->function(here.run->callee(here.instruction), here.operands);
}

std::vector<Tensor> stage_pull(const OnTensors& here) {
  return run_recursive(derivative_of_pull(*here.run, here.instruction), here.operands);
}

// ---- For many samples.

bool stays_a_call(const OnSamples& here) {
  return Trace::current() != nullptr && here.run.is_recursive(here.run.callee(here.instruction));
}

std::vector<BatchedValue> batch_in_place(const OnSamples& here) {
  const ir::Function& called = here.run.callee(here.instruction);
  const Trace::Part part(called.name());
  return here.run.function(called, here.operands);
}

std::vector<BatchedValue> batch_call(const OnSamples& here) {
  if (!stays_a_call(here)) return batch_in_place(here);
  return run_recursive_batched({here.run.program(), here.run.callee(here.instruction)},
                               here.operands, here.run.samples());
}

std::vector<BatchedValue> batch_pull(const OnSamples& here) {
  if (!stays_a_call(here)) return batch_in_place(here);
  return run_recursive_batched(derivative_of_pull(here.run, here.instruction), here.operands,
                               here.run.samples());
}

}  // namespace

namespace forms {

extern constexpr Form kCall{.run = run_call, .stage = stage_call, .batch = batch_call};
// It runs a derivative. Beside it, it names the function, whose rules are not used again.
extern constexpr Form kPull{
    .run = run_pull, .stage = stage_pull, .batch = batch_pull, .follow = {.runs = 1}};

}  // namespace forms
}  // namespace plait
