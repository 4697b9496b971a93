#include "plait/transform/inside/forms/calls/recursion_tape.h"

#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/derivatives/taped.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/calls/staged_recursion.h"

namespace plait {

using Tensors = std::vector<Tensor>;

Tensors RecursionTape::forward(std::span<const Tensor> operands) const {
  return call_derived(function_, forward_function(), operands);
}

Tensors RecursionTape::backward(std::span<const Tensor> tape_and_cotangents) const {
  if (OpenRecursion* const open =
          find_open(function_, "backward" + bits(wanted_), tape_and_cotangents)) {
    return open->call(tape_and_cotangents);
  }
  const StagedFunction both = stage_derived(function_, forward_function());
  return run_recursive({both.program, both.program.function(backward_name())}, tape_and_cotangents);
}

Derived RecursionTape::forward_function() const {
  Derived made{"forward" + bits(wanted_), function_.signature(), {}};
  made.signature.results.push_back(type());
  made.body = [this](std::span<const Tensor> given) { return record(given); };
  return made;
}

std::string RecursionTape::backward_name() const {
  return function_.function().name() + ".backward" + bits(wanted_);
}

ir::Type RecursionTape::type() const {
  return ir::Type::record(function_.function().name() + ".tape" + bits(wanted_),
                          function_.signature().size_parameters);
}

ir::Signature RecursionTape::backward_signature() const {
  const ir::Signature& signature = function_.signature();
  ir::Signature back;
  back.size_parameters = signature.size_parameters;
  back.parameters = {type()};
  for (const ir::Type& type : signature.results) {
    if (ir::has_tangent(type)) back.parameters.push_back(type);
  }
  for (size_t i = 0; i < wanted_.size(); ++i) {
    if (wanted_[i]) back.results.push_back(signature.parameters[i]);
  }
  return back;
}

// Runs in the trace of the forward function, and records the backward function beside it.
Tensors RecursionTape::record(std::span<const Tensor> operands) const {
  Trace& trace = *Trace::current();
  OpenRecursion open({&function_.function(), "backward" + bits(wanted_)}, backward_name(),
                     backward_signature().parameters);
  open.expect(backward_signature());
  open.record_within(trace);
  const Taped taped = record_taped(function_.body(), operands, wanted_);
  const Tensors& kept = taped.backward.captures;
  const ir::Type tape_type = type();
  ir::RecordType record{
      tape_type.record_name(), function_.signature().size_parameters, {}, ir_types_of(kept)};
  record.held = sizes_besides(record.fields, record.parameters);
  trace.functions().declare(record);
  const Tensor tape = trace.record({.primitive = ir::primitive(ir::Structure::pack),
                                    .operands = kept,
                                    .size_arguments = record.held,
                                    .stated_types = {&tape_type, 1}})[0];
  record_backward(taped.backward);
  return joined({taped.results, {&tape, 1}});
}

void RecursionTape::record_backward(const StagedFunction& backward) const {
  Trace trace(backward_name());
  for (const Dim size : function_.signature().size_parameters) trace.function().declare_size(size);
  Tensors given;
  for (const ir::Type& type : backward_signature().parameters) {
    given.push_back(trace.parameter(type));
  }
  const Tensors fields = trace.record(
      {.primitive = ir::primitive(ir::Structure::unpack), .operands = std::span(given).first(1)});
  trace.finish(backward(joined({std::span(given).subspan(1), fields})));
}

Tensors pull_by_tape(const RecursiveFunction& of, std::span<const int64_t> wanted,
                     std::span<const Tensor> all) {
  const size_t count = of.signature().parameters.size();
  std::vector<bool> which(count, false);
  for (const int64_t i : wanted) which[static_cast<size_t>(i)] = true;
  const RecursionTape tape(of, std::move(which));
  const Tensors results = tape.forward(all.first(count));
  return tape.backward(joined({{&results.back(), 1}, all.subspan(count)}));
}

}  // namespace plait
