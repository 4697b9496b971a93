#include "plait/transform/inside/forms/staged.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/tensor/inside/tracing/trace_scopes.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/running/sizes_between.h"

namespace plait {

std::vector<ir::Type> ir_types_of(std::span<const Tensor> tensors) {
  std::vector<ir::Type> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

namespace {

// A tensor without elements that shows a size, from outside of the trace. As an argument it passes
// the size to the function.
Tensor showing(Dim size, const Trace& trace) {
  const Trace::Instead outside(trace.outer());
  return zeros(Shape{size, 0}, DType::boolean);
}

}  // namespace

StagedFunction stage(const std::string& name, std::span<const ir::Type> parameters,
                     const TensorFunction& function, const StageNumbers& numbers) {
  Trace trace(name, Trace::apart);
  if (numbers.companion != nullptr) trace.execute_with(*numbers.companion);
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor actual = i < numbers.actual.size() ? numbers.actual[i] : Tensor();
    const Device device = i < numbers.beside.size() ? numbers.beside[i].device() : Device();
    arguments.push_back(trace.parameter(parameters[i], {}, actual, device));
  }
  const std::vector<Tensor> results = function(arguments);
  for (const Dim size : trace.function().outer_sizes()) trace.capture(showing(size, trace));
  RecordedFunction recorded = trace.finish(results);
  StagedFunction staged{trace.functions().with_entry(recorded.function)};
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

std::vector<Dim> sizes_shown(std::span<const Dim> sizes, std::span<const ir::Type> declared,
                             std::span<const Tensor> given) {
  SymbolMap<Dim> known;
  for (size_t i = 0; i < declared.size(); ++i) learn_sizes(declared[i], given[i].type(), known);
  std::vector<Dim> shown;
  for (const Dim size : sizes) shown.push_back(*known.find(size));
  return shown;
}

std::string stem_of(Dim size) {
  const std::string_view name = size.is_symbol() ? size.name() : "k";
  return std::string(name.substr(0, name.find('.')));
}

namespace {

// The sizes of the results of a function that returns the types that it takes: its own sizes get
// new names.
ResultSizes sizes_given(Trace& trace, const NewCallee& callee, std::span<const Tensor> results) {
  ResultSizes given;
  SymbolMap<Dim> next;
  const auto taken = std::span(callee.parameters).last(results.size());
  given.values = sizes_shown(callee.own_sizes, taken, results);
  for (const Dim size : callee.own_sizes) {
    given.names.push_back(trace.function().fresh_size(stem_of(size)));
    next.set(size, given.names.back());
  }
  for (const ir::Type& type : taken) given.results.push_back(type.substitute(next));
  return given;
}

ir::Callee record_callee(Trace& outer, const NewCallee& callee, std::span<const Tensor> operands) {
  Trace trace(outer.functions().free_name(callee.name));
  for (const Dim size : callee.own_sizes) trace.function().declare_size(size);
  for (const Dim size : callee.other_sizes) trace.function().declare_size(size);
  if (callee.own_sizes.empty()) {
    for (const Tensor& operand : operands) trace.function().declare_sizes(operand.type());
  }
  std::vector<Tensor> arguments;
  const bool are_passed = operands.size() == callee.parameters.size();
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    const Device device = are_passed ? operands[i].device() : Device();
    arguments.push_back(trace.parameter(callee.parameters[i], {}, {}, device));
  }
  const std::vector<Tensor> results = callee.function(arguments);
  const RecordedFunction recorded = callee.gives_sizes
                                        ? trace.finish(results, sizes_given(trace, callee, results))
                                        : trace.finish(results);
  if (!recorded.captures.empty()) {
    throw ValueError("@{} captures a {}", callee.name, recorded.captures[0].type().text())
        .at(Location::of_caller());
  }
  const ir::Signature& signature = recorded.function->signature();
  const auto is_own = [&](Dim size) {
    return std::ranges::find_if(callee.own_sizes, is_same_as(size)) != callee.own_sizes.end();
  };
  for (const SizeFact& fact : signature.facts) {
    bool is_about_own = false;
    for (const Dim side : {fact.left, fact.right}) {
      side.for_each_symbol([&](Dim size) { is_about_own = is_about_own || is_own(size); });
    }
    if (!is_about_own) outer.sizes().assume(fact);
  }
  ir::Callee recorded_callee{recorded.function->name(), signature.size_parameters};
  std::ranges::copy(callee.begin_as, recorded_callee.sizes.begin());
  return recorded_callee;
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
