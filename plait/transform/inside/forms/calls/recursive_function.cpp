#include "plait/transform/inside/forms/calls/recursive_function.h"

#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/derivatives/derived_cache.h"
#include "plait/transform/inside/running/function_run.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {

bool has_recursion(const ir::Program& program) {
  const ir::CallGraph graph(program);
  for (size_t i = 0; i < graph.component_count(); ++i) {
    if (graph.is_recursive(i)) return true;
  }
  return false;
}

bool has_pulls(const ir::Program& program) {
  return any_instruction(program, [](const ir::Instruction& instruction) {
    return instruction.primitive().structure == ir::Structure::pull;
  });
}

RecursiveFunction RecursiveFunction::derivative_of(const RecursiveFunction& of,
                                                   std::span<const int64_t> wanted) const {
  RecursiveFunction derivative = *this;
  derivative.of_ = std::make_shared<const RecursiveFunction>(of);
  derivative.wanted_.assign(wanted.begin(), wanted.end());
  return derivative;
}

TensorFunction RecursiveFunction::body() const {
  return [program = program_, &function = function_](std::span<const Tensor> given) {
    return run_function(program, function, given);
  };
}

ir::Callee RecursiveFunction::callee(std::span<const Tensor> operands) const {
  Trace& trace = *Trace::current();
  const SymbolMap<Dim> sizes = sizes_for(function_, ir_types_of(operands));
  const auto close = [&](const ir::Instruction& each) { return close_open_call(trace, each); };
  ir::Callee callee{trace.functions().include(program_, function_, close), {}};
  for (const Dim size : signature().size_parameters) {
    callee.sizes.push_back(size.substitute(sizes));
  }
  return callee;
}

std::vector<Tensor> RecursiveFunction::record_call(std::span<const Tensor> operands) const {
  std::vector<ir::Callee> callees{callee(operands)};
  ir::Attributes attributes;
  if (of_) {
    callees.push_back(of_->callee(operands.first(of_->signature().parameters.size())));
    attributes = ir::Attributes::of(ir::PullAttributes{wanted_});
  }
  const auto structure = of_ ? ir::Structure::pull : ir::Structure::call;
  return Trace::current()->record({.primitive = ir::primitive(structure),
                                   .operands = operands,
                                   .attributes = attributes,
                                   .callees = callees});
}

OpenRecursion* find_open(const RecursiveFunction& of, const std::string& kind,
                         std::span<const Tensor> operands) {
  return OpenRecursion::find({&of.function(), kind}, ir_types_of(operands));
}

StagedFunction stage_derived(const RecursiveFunction& of, const Derived& derived) {
  const ir::Function& function = of.function();
  if (const StagedFunction* const known = derived_cache().find(function, derived.kind)) {
    return *known;
  }
  OpenRecursion open({&function, derived.kind}, function.name() + "." + derived.kind,
                     derived.signature.parameters);
  if (!derived.finds_results) open.expect(derived.signature);
  StagedFunction made = open.stage(derived.body);
  if (!has_open_calls(made.program)) {
    derived_cache().add(of.program(), function, derived.kind, made);
  }
  return made;
}

std::string bits(const std::vector<bool>& flags) {
  std::string text;
  for (const bool flag : flags) text += flag ? '1' : '0';
  return text;
}

}  // namespace plait
