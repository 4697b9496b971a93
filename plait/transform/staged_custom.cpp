#include "plait/transform/staged_custom.h"

#include <algorithm>

#include "plait/ir/structure.h"
#include "plait/transform/derivative.h"
#include "plait/transform/function_run.h"
#include "plait/transform/tensor_lists.h"
#include "plait/transform/varying.h"

namespace plait {
namespace {

// The types of what a function gives for these arguments.
std::vector<ir::Type> result_types(const StagedFunction& function, std::span<const Tensor> given) {
  const SymbolMap<Dim> sizes = sizes_for(*function.function, ir_types_of(given));
  std::vector<ir::Type> types;
  for (const ir::Type& type : function.function->signature().results) {
    types.push_back(type.substitute(sizes));
  }
  return types;
}

std::vector<bool> which_have_tangents(std::span<const ir::Type> types) {
  std::vector<bool> which;
  for (const ir::Type& type : types) which.push_back(ir::has_tangent(type));
  return which;
}

void append_tangents(std::vector<ir::Type>& types, std::span<const ir::Type> of) {
  std::ranges::copy_if(of, std::back_inserter(types),
                       [](const ir::Type& type) { return ir::has_tangent(type); });
}

}  // namespace

std::vector<Tensor> run_custom_vjp(const StagedFunction& function, const StagedFunction& forward,
                                   const StagedFunction& backward,
                                   std::span<const Tensor> operands) {
  const size_t count = function.function->results().size();
  if (is_followed(operands)) {
    std::vector<Tensor> all;
    customs::run_forward(operands, [&] { all = forward(operands); });
    const auto results = std::span(all).first(count), residuals = std::span(all).subspan(count);
    const auto pull = [backward, which = which_have_tangents(ir_types_of(operands))](
                          std::span<const Tensor> kept, std::span<const Tensor> cotangents) {
      return spread(backward(joined({kept, those_there(cotangents)})), which);
    };
    return customs::follow_vjp(operands, {results.begin(), results.end()},
                               {residuals.begin(), residuals.end()}, pull);
  }
  if (Trace::current() == nullptr) return function(operands);
  const std::vector<ir::Type> taken = ir_types_of(operands);
  const std::vector<ir::Type> given = result_types(forward, operands);
  std::vector<ir::Type> sent(given.begin() + static_cast<std::ptrdiff_t>(count), given.end());
  append_tangents(sent, std::span(given).first(count));
  const NewCallee callees[] = {{function.function->name(), taken, function},
                               {forward.function->name(), taken, forward},
                               {backward.function->name(), sent, backward}};
  return record_with_callees(ir::primitive(ir::Structure::custom_vjp), operands, {}, callees);
}

std::vector<Tensor> run_custom_jvp(const StagedFunction& function, const StagedFunction& rule,
                                   std::span<const Tensor> operands) {
  const size_t count = function.function->results().size();
  if (is_followed(operands)) {
    std::vector<Tensor> results;
    {
      const LevelPause pause;
      results = function(operands);
    }
    const auto along = [rule, count, which = which_have_tangents(ir_types_of(results))](
                           std::span<const Tensor> at, std::span<const Tensor> tangents) {
      const std::vector<Tensor> all = rule(joined({at, those_there(tangents)}));
      return std::pair{std::vector<Tensor>(), spread(std::span(all).subspan(count), which)};
    };
    return customs::follow_jvp(operands, std::move(results), along);
  }
  if (Trace::current() == nullptr) return function(operands);
  const std::vector<ir::Type> taken = ir_types_of(operands);
  std::vector<ir::Type> with_tangents = taken;
  append_tangents(with_tangents, taken);
  const NewCallee callees[] = {{function.function->name(), taken, function},
                               {rule.function->name(), with_tangents, rule}};
  return record_with_callees(ir::primitive(ir::Structure::custom_jvp), operands, {}, callees);
}

// ---- Host functions in a trace.

namespace customs {
namespace {

// The tensors that are inexact, with zeros for those that are empty.
std::vector<Tensor> whole_tangents(std::span<const Tensor> tangents,
                                   std::span<const ir::Type> types) {
  std::vector<Tensor> whole;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!ir::has_tangent(types[i])) continue;
    const Tensor tangent = tangents[i] ? tangents[i] : zeros_of(OperandType(types[i]));
    whole.push_back(as_varying_as(tangent, types[i]));
  }
  return whole;
}

}  // namespace

Tensors record_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const TensorFunction& forward, const Backward& backward) {
  const std::vector<ir::Type> types = ir_types_of(arguments);
  const StagedFunction computes = stage("custom", types, function);
  const StagedFunction goes = stage("custom.forward", types, forward);
  const std::vector<ir::Type>& results = computes.function->signature().results;
  const std::vector<ir::Type>& all = goes.function->signature().results;
  std::vector<ir::Type> sent(all.begin() + static_cast<std::ptrdiff_t>(results.size()), all.end());
  const size_t residuals = sent.size();
  append_tangents(sent, results);
  const StagedFunction comes = stage("custom.backward", sent, [&](auto given) {
    const Tensors cotangents = spread(given.subspan(residuals), which_have_tangents(results));
    const Tensors found = backward(given.first(residuals), cotangents);
    check_count("custom_vjp: the backward function", found.size(), types.size());
    return whole_tangents(found, types);
  });

  Captures captures(arguments);
  const std::vector<size_t> for_function = captures.add(computes), for_forward = captures.add(goes),
                            for_backward = captures.add(comes);
  const Tensors& operands = captures.operands();
  // What the way back captured is one more residual.
  const StagedFunction whole_forward =
      stage("custom.forward", ir_types_of(operands), [&](auto given) {
        const Tensors kept =
            goes(joined({given.first(arguments.size()), picked(given, for_forward)}));
        return joined({kept, picked(given, for_backward)});
      });
  std::vector<ir::Type> whole_sent(sent.begin(),
                                   sent.begin() + static_cast<std::ptrdiff_t>(residuals));
  for (const Tensor& capture : comes.captures) whole_sent.push_back(capture.type());
  append_tangents(whole_sent, results);
  const StagedFunction whole_backward = stage("custom.backward", whole_sent, [&](auto given) {
    const size_t captured = comes.captures.size();
    const Tensors found = comes(joined({given.first(residuals), given.subspan(residuals + captured),
                                        given.subspan(residuals, captured)}));
    const std::vector<ir::Type> others = ir_types_of(std::span(operands).subspan(arguments.size()));
    return joined({found, whole_tangents(Tensors(others.size()), others)});
  });
  return run_custom_vjp(captures.of_operands(computes, for_function), whole_forward, whole_backward,
                        operands);
}

Tensors record_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along) {
  const std::vector<ir::Type> types = ir_types_of(arguments);
  const StagedFunction computes = stage("custom", types, function);
  const std::vector<ir::Type>& results = computes.function->signature().results;
  std::vector<ir::Type> taken = types;
  append_tangents(taken, types);
  const StagedFunction rule = stage("custom.rule", taken, [&](auto given) {
    const Tensors tangents = spread(given.subspan(types.size()), which_have_tangents(types));
    const Tensors found = along(given.first(types.size()), tangents).second;
    check_count("custom_jvp: the rule", found.size(), results.size());
    return whole_tangents(found, results);
  });

  Captures captures(arguments);
  const std::vector<size_t> for_function = captures.add(computes), for_rule = captures.add(rule);
  const Tensors& operands = captures.operands();
  const StagedFunction whole = captures.of_operands(computes, for_function);
  std::vector<ir::Type> whole_taken = ir_types_of(operands);
  append_tangents(whole_taken, ir_types_of(operands));
  const StagedFunction whole_rule = stage("custom.rule", whole_taken, [&](auto given) {
    const auto at = given.first(operands.size());
    const auto moving = given.subspan(operands.size(), taken.size() - types.size());
    return joined(
        {whole(at), rule(joined({at.first(types.size()), moving, picked(at, for_rule)}))});
  });
  return run_custom_jvp(whole, whole_rule, operands);
}

}  // namespace customs
}  // namespace plait
