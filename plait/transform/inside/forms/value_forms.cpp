// Instructions that give a value that is known, or their operand under another type: `literal`,
// `size`, `refine`, `vary`.
#include "plait/ir/structure.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/forms/form.h"

namespace plait {
namespace {

std::vector<Tensor> run_literal(const OnTensors& here) {
  const Literal& literal = here.instruction.attributes_as<ir::LiteralAttributes>().value;
  if (Trace* const trace = Trace::current()) return {trace->constant(literal)};
  return {Tensor(Array::of(literal))};
}

std::vector<Tensor> run_size(const OnTensors& here) {
  const auto& size = here.instruction.attributes_as<ir::SizeAttributes>();
  return {scalar_tensor(size.value.substitute(here.sizes), size.dtype)};
}

// ---- `refine`: the same value, with sizes that are known to be equal.

std::vector<Tensor> run_refine(const OnTensors& here) { return {here.operands[0]}; }

Shape refined_shape(const ir::Instruction& instruction, const SymbolMap<Dim>& sizes) {
  return instruction.result_types()[0].substitute(sizes).shape();
}

std::vector<Tensor> stage_refine(const OnTensors& here) {
  const Tensor& x = here.operands[0];
  const Shape shape = refined_shape(here.instruction, here.sizes);
  return {same(x.shape(), shape) ? x : Trace::current()->refine(x, shape)};
}

Tensor pull_refine(const ir::Instruction& instruction, const Tensor& cotangent) {
  Trace* const trace = Trace::current();
  return trace == nullptr ? cotangent
                          : trace->refine(cotangent, instruction.operand_type(0).shape());
}

std::vector<BatchedValue> batch_refine(const OnSamples& here) {
  const BatchedValue& x = here.operands[0];
  if (!x.is_batched) return run_for_all_samples(here);
  Trace* const trace = Trace::current();
  if (trace == nullptr) return {x};
  const Shape shape = refined_shape(here.instruction, here.sizes);
  return {{trace->refine(x.tensor, with_first(here.run.samples().count, shape)), true}};
}

// ---- `vary`

std::vector<Tensor> run_vary(const OnTensors& here) {
  const ir::AxisSet& axes = here.instruction.attributes_as<ir::VaryAttributes>().axes;
  return {vary_along(here.operands[0], axes)};
}

std::vector<BatchedValue> batch_vary(const OnSamples& here) {
  ir::AxisSet others = here.instruction.attributes_as<ir::VaryAttributes>().axes;
  others.erase(here.run.samples().axis);
  const BatchedValue& x = here.operands[0];
  return {{vary_along(x.tensor, others), x.is_batched}};
}

}  // namespace

namespace forms {

extern constexpr Form kLiteral{.run = run_literal, .batch = run_for_all_samples};
extern constexpr Form kSize{.run = run_size, .batch = run_for_all_samples};
extern constexpr Form kRefine{.run = run_refine,
                              .stage = stage_refine,
                              .batch = batch_refine,
                              .follow = {.pull = pull_refine}};
extern constexpr Form kVary{.run = run_vary, .batch = batch_vary};

}  // namespace forms
}  // namespace plait
