#include "plait/transform/staged.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/transform/tensor_lists.h"

namespace plait {

std::vector<ir::Type> ir_types_of(std::span<const Tensor> tensors) {
  std::vector<ir::Type> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

StagedFunction stage(const std::string& name, std::span<const ir::Type> parameters,
                     const TensorFunction& function) {
  Trace trace(name, Trace::apart);
  std::vector<Tensor> arguments;
  for (const ir::Type& type : parameters) arguments.push_back(trace.parameter(type));
  RecordedFunction recorded = trace.finish(function(arguments));
  StagedFunction staged{trace.part(recorded)};
  staged.function = &staged.program.entry();
  staged.captures = std::move(recorded.captures);
  return staged;
}

std::vector<size_t> Captures::add(const StagedFunction& function) {
  std::vector<size_t> places;
  for (const Tensor& capture : function.captures) {
    const auto same = [&](const Tensor& known) { return known.identity() == capture.identity(); };
    const auto first = operands_.begin() + static_cast<std::ptrdiff_t>(arguments_);
    const auto place = std::find_if(first, operands_.end(), same);
    places.push_back(static_cast<size_t>(place - operands_.begin()));
    if (place == operands_.end()) operands_.push_back(capture);
  }
  return places;
}

StagedFunction Captures::of_operands(const StagedFunction& function,
                                     const std::vector<size_t>& places) const {
  return stage(function.function->name(), ir_types_of(operands_), [&](auto given) {
    return function(joined({given.first(arguments_), picked(given, places)}));
  });
}

std::vector<Tensor> picked(std::span<const Tensor> operands, const std::vector<size_t>& places) {
  std::vector<Tensor> chosen;
  for (const size_t place : places) chosen.push_back(operands[place]);
  return chosen;
}

namespace {

ir::Callee record_callee(Trace& outer, const NewCallee& callee, std::span<const Tensor> operands) {
  Trace trace(outer.free_name(callee.name));
  for (const Tensor& operand : operands) trace.declare_sizes(operand.type());
  std::vector<Tensor> arguments;
  for (const ir::Type& type : callee.parameters) arguments.push_back(trace.parameter(type));
  const RecordedFunction recorded = trace.finish(callee.function(arguments));
  if (!recorded.captures.empty()) {
    throw ValueError("@{} captures a {}", callee.name, recorded.captures[0].type().text())
        .at(Location::of_caller());
  }
  const ir::Signature& signature = recorded.function->signature();
  for (const SizeFact& fact : signature.facts) outer.sizes().assume(fact);
  return {recorded.function->name(), signature.size_parameters};
}

}  // namespace

std::vector<Tensor> record_with_callees(const ir::Primitive& primitive,
                                        std::span<const Tensor> operands,
                                        const ir::Attributes& attributes,
                                        std::span<const NewCallee> callees) {
  Trace& trace = *Trace::current();
  std::vector<ir::Callee> recorded;
  for (const NewCallee& callee : callees) {
    recorded.push_back(record_callee(trace, callee, operands));
  }
  return trace.record({.primitive = primitive,
                       .operands = operands,
                       .attributes = attributes,
                       .callees = recorded});
}

}  // namespace plait
