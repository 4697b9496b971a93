#include "plait/transform/inside/forms/custom_rules/staged_custom.h"

#include <algorithm>

#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/effects/check.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/derivatives/again.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/custom_rules/staged_host.h"
#include "plait/transform/inside/running/function_run.h"

namespace plait {
namespace {

// The result types of a function for these arguments.
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

// Number of operands that the rule covers, given its number of tangents or cotangents; the
// remaining operands are captures.
size_t count_ruled(std::span<const ir::Type> operands, size_t tangents) {
  size_t count = 0;
  for (; tangents > 0; ++count) tangents -= ir::has_tangent(operands[count]) ? 1 : 0;
  return count;
}

std::vector<Tensor> underived_all(std::span<const Tensor> tensors) {
  std::vector<Tensor> plain;
  std::ranges::transform(tensors, std::back_inserter(plain), underived);
  return plain;
}

TensorFunction with_captured(const StagedFunction& function, std::span<const Tensor> captured) {
  return [=, captured = std::vector<Tensor>(captured.begin(), captured.end())](
             std::span<const Tensor> given) { return function(joined({given, captured})); };
}

}  // namespace

std::vector<Tensor> run_custom_vjp(const StagedFunction& function, const StagedFunction& forward,
                                   const StagedFunction& backward,
                                   std::span<const Tensor> operands) {
  const size_t count = function.function->results().size();
  const std::vector<ir::Type> taken = ir_types_of(operands);
  const size_t ruled = count_ruled(taken, backward.function->results().size());
  if (is_followed(operands.first(ruled))) {
    const auto captured = operands.subspan(ruled);
    const auto forwards = [&](std::span<const Tensor> given) {
      const std::vector<Tensor> all = forward(joined({given, captured}));
      return std::pair(std::vector<Tensor>(all.begin(), all.begin() + ptr(count)),
                       std::vector<Tensor>(all.begin() + ptr(count), all.end()));
    };
    const auto pull = [backward, which = which_have_tangents(std::span(taken).first(ruled))](
                          std::span<const Tensor> kept, std::span<const Tensor> cotangents) {
      return spread(backward(joined({kept, present_of(cotangents)})), which);
    };
    return customs::follow_vjp(operands.first(ruled), with_captured(function, captured), forwards,
                               pull);
  }
  if (Trace::current() == nullptr) return function(operands);
  if (is_followed(operands)) {
    return customs::follow_captured(
        run_custom_vjp(function, forward, backward, underived_all(operands)), function(operands));
  }
  const std::vector<ir::Type> given = result_types(forward, operands);
  std::vector<ir::Type> sent(given.begin() + ptr(count), given.end());
  append_tangents(sent, std::span(given).first(count));
  const NewCallee callees[] = {{function.function->name(), taken, function},
                               {forward.function->name(), taken, forward},
                               {backward.function->name(), sent, backward}};
  return record_with_callees(ir::primitive(ir::Structure::custom_vjp), operands, {}, callees);
}

std::vector<Tensor> run_custom_jvp(const StagedFunction& function, const StagedFunction& rule,
                                   std::span<const Tensor> operands) {
  const size_t count = function.function->results().size();
  const std::vector<ir::Type> taken = ir_types_of(operands);
  const size_t ruled = count_ruled(taken, rule.function->parameter_count() - operands.size());
  if (is_followed(operands.first(ruled))) {
    const auto along =
        [rule, count, which = which_have_tangents(function.function->signature().results),
         captured = std::vector<Tensor>(operands.begin() + ptr(ruled), operands.end())](
            std::span<const Tensor> at, std::span<const Tensor> tangents) {
          const std::vector<Tensor> all = rule(joined({at, captured, present_of(tangents)}));
          return std::pair{std::vector<Tensor>(all.begin(), all.begin() + ptr(count)),
                           spread(std::span(all).subspan(count), which)};
        };
    return customs::follow_jvp(operands.first(ruled),
                               with_captured(function, operands.subspan(ruled)), along);
  }
  if (Trace::current() == nullptr) return function(operands);
  if (is_followed(operands)) {
    return customs::follow_captured(run_custom_jvp(function, rule, underived_all(operands)),
                                    function(operands));
  }
  std::vector<ir::Type> with_tangents = taken;
  append_tangents(with_tangents, std::span(taken).first(ruled));
  const NewCallee callees[] = {{function.function->name(), taken, function},
                               {rule.function->name(), with_tangents, rule}};
  return record_with_callees(ir::primitive(ir::Structure::custom_jvp), operands, {}, callees);
}

// ---- Host functions in a trace.

namespace customs {
namespace {

// The tangents that a rule returned, checked against these types; empty ones become zeros.
Tensors whole_tangents(std::string_view what, Tensors given, std::span<const ir::Type> types) {
  std::vector<OperandType> wanted;
  for (const ir::Type& type : types) wanted.emplace_back(type);
  const Tensors tangents = fitted(what, std::move(given), wanted);
  Tensors whole;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!ir::has_tangent(types[i])) continue;
    const Tensor tangent = tangents[i] ? tangents[i] : zeros_of(wanted[i]);
    whole.push_back(as_varying_as(tangent, types[i]));
  }
  return whole;
}

// A rule that calls its own function is recorded within itself, up to this depth. It limits the
// order of derivatives of such a program.
constexpr int kMostOrders = 4;

class RuleScope {
 public:
  RuleScope() { ++ambient.recorded_rules; }
  ~RuleScope() { --ambient.recorded_rules; }
  RuleScope(const RuleScope&) = delete;
  RuleScope& operator=(const RuleScope&) = delete;

  static int depth() { return ambient.recorded_rules; }  // rules being recorded on this thread
};

// Replaces the result of a rule beyond that depth: fails when it runs.
Tensors refused_tangents(std::span<const ir::Type> types) {
  check(zeros({}, DType::boolean),
        fmt::format("a custom rule calls its own function: a program holds the rules of at most {} "
                    "derivatives, and one more is needed;"
                    " differentiate it outside of jit and trace",
                    kMostOrders));
  Tensors none;
  for (const ir::Type& type : types) {
    if (ir::has_tangent(type)) none.push_back(zeros_of(OperandType(type)));
  }
  return none;
}

}  // namespace

Tensors record_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Forward& forward, const Backward& backward) {
  const std::vector<ir::Type> types = ir_types_of(arguments);
  const auto here = [&] { return Tensors(arguments.begin(), arguments.end()); };
  const StagedFunction computes = stage_host("custom", types, function, here);
  const bool is_last = RuleScope::depth() == kMostOrders;
  const RuleScope deeper;
  const auto host_forward = [&](std::span<const Tensor> given) {
    if (is_last) return computes(joined({given, computes.captures}));
    const auto [found, residuals] = forward(given);
    return joined({found, residuals});
  };
  const StagedFunction staged_forward = stage_host("custom.forward", types, host_forward, here);
  const std::vector<ir::Type>& results = computes.function->signature().results;
  const std::vector<ir::Type>& all = staged_forward.function->signature().results;
  std::vector<ir::Type> sent(all.begin() + static_cast<std::ptrdiff_t>(results.size()), all.end());
  const size_t residuals = sent.size();
  append_tangents(sent, results);
  const auto host_backward = [&](std::span<const Tensor> given) {
    if (is_last) return refused_tangents(types);
    const Tensors cotangents = spread(given.subspan(residuals), which_have_tangents(results));
    return whole_tangents("custom_vjp: the backward function",
                          backward(given.first(residuals), cotangents), types);
  };
  const StagedFunction staged_backward = stage_host("custom.backward", sent, host_backward, [&] {
    const control::Again again;
    Tensors kept = staged_forward(joined({arguments, staged_forward.captures}));
    kept.erase(kept.begin(), kept.begin() + ptr(results.size()));
    kept.resize(sent.size());
    return kept;
  });

  Captures captures(arguments);
  const std::vector<size_t> for_function = captures.add(computes),
                            for_forward = captures.add(staged_forward),
                            for_backward = captures.add(staged_backward);
  const Tensors& operands = captures.operands();
  // The captures of the backward function become residuals.
  const StagedFunction forward_with_captures =
      stage("custom.forward", ir_types_of(operands), [&](auto given) {
        const Tensors kept =
            staged_forward(joined({given.first(arguments.size()), picked(given, for_forward)}));
        return joined({kept, picked(given, for_backward)});
      });
  std::vector<ir::Type> whole_sent(sent.begin(),
                                   sent.begin() + static_cast<std::ptrdiff_t>(residuals));
  for (const Tensor& capture : staged_backward.captures) whole_sent.push_back(capture.type());
  append_tangents(whole_sent, results);
  const StagedFunction backward_with_captures =
      stage("custom.backward", whole_sent, [&](auto given) {
        const size_t captured = staged_backward.captures.size();
        return staged_backward(joined({given.first(residuals), given.subspan(residuals + captured),
                                       given.subspan(residuals, captured)}));
      });
  return run_custom_vjp(captures.of_operands(computes, for_function), forward_with_captures,
                        backward_with_captures, operands);
}

Tensors record_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along) {
  const std::vector<ir::Type> types = ir_types_of(arguments);
  Tensors here(arguments.begin(), arguments.end());
  const StagedFunction computes = stage_host("custom", types, function, [&] { return here; });
  const std::vector<ir::Type>& results = computes.function->signature().results;
  std::vector<ir::Type> taken = types;
  append_tangents(taken, types);
  const bool is_last = RuleScope::depth() == kMostOrders;
  const RuleScope deeper;
  const auto says = [&](std::span<const Tensor> given) {
    if (is_last) {
      return joined({computes(joined({given.first(types.size()), computes.captures})),
                     refused_tangents(results)});
    }
    const Tensors tangents = spread(given.subspan(types.size()), which_have_tangents(types));
    auto [values, moved] = along(given.first(types.size()), tangents);
    check_count("custom_jvp: the rule", values.size(), results.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = as_varying_as(values[i], results[i]);
    return joined({values, whole_tangents("custom_jvp: the rule", std::move(moved), results)});
  };
  here.resize(taken.size());
  const StagedFunction rule = stage_host("custom.rule", taken, says, [&] { return here; });

  Captures captures(arguments);
  const std::vector<size_t> for_function = captures.add(computes), for_rule = captures.add(rule);
  const Tensors& operands = captures.operands();
  const StagedFunction whole = captures.of_operands(computes, for_function);
  std::vector<ir::Type> whole_taken = ir_types_of(operands);
  append_tangents(whole_taken, types);
  const StagedFunction whole_rule = stage("custom.rule", whole_taken, [&](auto given) {
    const auto at = given.first(operands.size());
    const auto moving = given.subspan(operands.size());
    return rule(joined({at.first(types.size()), moving, picked(at, for_rule)}));
  });
  return run_custom_jvp(whole, whole_rule, operands);
}

}  // namespace customs
}  // namespace plait
