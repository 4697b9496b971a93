#include "plait/transform/inside/running/function_run.h"

#include "plait/core/error.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/running/sizes_between.h"

namespace plait {

void check_fact(const ir::Function& function, const SizeFact& fact, const SymbolMap<Dim>& sizes) {
  const SizeFact here{fact.left.substitute(sizes), fact.relation, fact.right.substitute(sizes)};
  SizeContext alone;
  SizeContext& context = Trace::current() ? Trace::current()->sizes() : alone;
  if (context.facts().prove(here) == true) return;
  if (Trace::current() != nullptr && context.facts().prove(here) != false) {
    context.assume(here);
    return;
  }
  throw ShapeError("@{}: {} does not hold for the sizes of the arguments", function.name(),
                   fact.text())
      .at(function.location());
}

SymbolMap<Dim> sizes_for(const ir::Function& function, std::span<const ir::Type> arguments) {
  const auto& parameters = function.signature().parameters;
  if (arguments.size() != parameters.size()) {
    throw ValueError("@{} takes {} arguments, {} are given", function.name(), parameters.size(),
                     arguments.size())
        .at(function.location());
  }
  SymbolMap<Dim> sizes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (learn_sizes(parameters[i], arguments[i], sizes)) continue;
    throw TypeError("@{}: argument {} is {}, expected {}", function.name(), i, arguments[i].text(),
                    parameters[i].text())
        .at(function.location());
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    // For values that vary along other axes, it is another function.
    if (ir::fits_but_for_axes(arguments[i], parameters[i].substitute(sizes))) continue;
    throw ShapeError("@{}: argument {} is {}, expected {}", function.name(), i, arguments[i].text(),
                     parameters[i].text())
        .at(function.location());
  }
  for (const SizeFact& fact : function.signature().facts) check_fact(function, fact, sizes);
  return sizes;
}

void learn_data_dependent(const ir::Instruction& instruction, std::span<const ir::Type> results,
                          SymbolMap<Dim>& sizes) {
  for (size_t r = 0; r < results.size(); ++r) {
    learn_sizes(instruction.result_types()[r], results[r], sizes);
  }
}

}  // namespace plait
