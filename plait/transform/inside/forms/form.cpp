#include "plait/transform/inside/forms/form.h"

#include "plait/core/error.h"
#include "plait/ir/text/printer.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

std::vector<Tensor> run_form(const OnTensors& here) {
  const Form& form = form_of(here.instruction.primitive().structure);
  const bool is_staged = form.stage != nullptr && Trace::current() != nullptr;
  if (const auto run = is_staged ? form.stage : form.run) return run(here);
  throw TypeError("{} cannot be run on tensors yet", ir::print(here.instruction))
      .at(here.instruction.location());
}

std::vector<BatchedValue> batch_form(const OnSamples& here) {
  const Form& form = form_of(here.instruction.primitive().structure);
  if (form.batch == nullptr) refuse_batching(here.instruction);
  return form.batch(here);
}

void refuse_batching(const ir::Instruction& instruction) {
  throw TypeError("{} has no batching rule yet", ir::print(instruction)).at(instruction.location());
}

std::vector<BatchedValue> run_for_all_samples(const OnSamples& here) {
  return values_of(run_form({here.instruction, tensors_in(here.operands), here.sizes}), false);
}

}  // namespace plait
