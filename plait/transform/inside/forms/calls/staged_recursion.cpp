#include "plait/transform/inside/forms/calls/staged_recursion.h"

#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/derivatives/lifted_draws.h"
#include "plait/transform/inside/derivatives/tape_scope.h"
#include "plait/transform/inside/derivatives/taped.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/calls/recursion_derivatives.h"
#include "plait/transform/inside/forms/calls/recursion_tape.h"
#include "plait/transform/inside/running/key_draws.h"

namespace plait {
namespace {

using Tensors = std::vector<Tensor>;

// The operands vary along the same axes as the parameters.
Tensors run_agreed(const RecursiveFunction& function, std::span<const Tensor> operands) {
  if (!is_followed(operands)) return record_recursive(function, operands);
  if (draws_keys(function.program(), function.function())) {
    return run_recursive_with_key(function, operands, random::draw_key());
  }
  return is_followed_in_reverse(operands) ? follow_in_reverse(function, operands)
                                          : follow_forward(function, operands);
}

// ---- Values that vary along other axes than in the record: a function of its own.

// All operands vary along the axes that determine the depth of the recursion: cotangents are
// summed outside of it, where all places take part.
Tensors settled(const RecursiveFunction& function, std::span<const Tensor> operands) {
  const ir::Program& program = function.program();
  ir::AxisSet deciding;
  const ir::CallGraph graph(program);
  for (const uint32_t i : graph.reachable_from(program.index_of(function.function().name()))) {
    for (const ir::Instruction instruction : program.function(i).instructions()) {
      deciding.insert(ir::deciding_axes(program, i, instruction));
    }
  }
  Tensors all;
  for (size_t i = 0; i < operands.size(); ++i) {
    ir::AxisSet axes = function.signature().parameters[i].all_varying();
    axes.insert(deciding);
    all.push_back(vary_along(operands[i], axes));
  }
  return all;
}

bool takes(const RecursiveFunction& function, std::span<const Tensor> operands) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (function.signature().parameters[i].all_varying() != axes_of(operands[i])) return false;
  }
  return true;
}

Tensors run_varying(const RecursiveFunction& function, std::span<const Tensor> operands) {
  Derived made{"along", function.signature(), function.body()};
  made.finds_results = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    ir::Type& type = made.signature.parameters[i];
    type = type.with_varying(axes_of(operands[i]));
    made.kind += axes_of(operands[i]).text();
  }
  return call_derived(function, made, operands);
}

}  // namespace

Tensors run_recursive(const RecursiveFunction& function, std::span<const Tensor> given) {
  if (!has_open_axes()) return run_agreed(function, given);
  const Tensors operands = settled(function, given);
  return takes(function, operands) ? run_agreed(function, operands)
                                   : run_varying(function, operands);
}

Tensors run_recursive_with_key(const RecursiveFunction& function, std::span<const Tensor> operands,
                               const Tensor& key) {
  Derived made{"keyed", function.signature(), with_key({function.program(), &function.function()})};
  made.signature.parameters.push_back(key.type());
  return call_derived(function, made, joined({operands, {&key, 1}}));
}

Tensors record_recursive(const RecursiveFunction& function, std::span<const Tensor> operands) {
  const Trace& trace = *Trace::current();
  const bool is_final =
      TapeScope::is_of(trace) || (TapeScope::is_open() && OpenRecursion::is_recorded_in(trace));
  const RecursiveFunction* const of = function.differentiated();
  if (of != nullptr && is_final) return pull_by_tape(*of, function.wanted(), operands);
  if (is_final && has_pulls(function.program())) {
    return call_derived(function, {"taped", function.signature(), function.body()}, operands);
  }
  return function.record_call(operands);
}

Tensors call_derived(const RecursiveFunction& of, const Derived& derived,
                     std::span<const Tensor> operands) {
  if (OpenRecursion* const open = find_open(of, derived.kind, operands)) {
    return open->call(operands);
  }
  const StagedFunction made = stage_derived(of, derived);
  const RecursiveFunction function(made.program, *made.function);
  if (derived.kind == "taped") return function.record_call(operands);
  return run_recursive(
      derived.pulled ? function.derivative_of(*derived.pulled, derived.wanted) : function,
      operands);
}

}  // namespace plait
