// Functions that say themselves what their derivative is.
//
//   const auto safe_log = custom_jvp([](Tensor x) { return log(x); },
//                                    [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
//                                      return std::pair{log(...), where(x > 0, dx / x, 0)};
//                                    });
//   const auto clipped = custom_vjp(f, forward, backward);
//
// Both serve forward and reverse mode, and any order: where only one mode's rule is given, the
// other is its transpose. Arguments and results are trees of tensors. The rule is about the
// arguments; by tensors that the function captures, the function itself is differentiated. Further
// derivatives are those of how a rule, or its forward function, computes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/trees/tree.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/derivatives/follow.h"

namespace plait {

namespace customs {

using Tensors = std::vector<Tensor>;
// The cotangents of the arguments, from what the forward function kept and the cotangents of the
// results; empty ones for what has no derivative.
using Backward =
    std::function<Tensors(std::span<const Tensor> residuals, std::span<const Tensor> cotangents)>;
// The results and their tangents, from the arguments' tangents; an empty one is zero.
using Along = std::function<std::pair<Tensors, Tensors>(std::span<const Tensor> arguments,
                                                        std::span<const Tensor> tangents)>;

bool is_followed(std::span<const Tensor> arguments);
// The results, and what the backward function needs besides: residuals.
using Forward = std::function<std::pair<Tensors, Tensors>(std::span<const Tensor> arguments)>;
// `function` gives the results alone.
Tensors follow_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Forward& forward, const Backward& backward);
Tensors follow_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along);
// Results as what was computed once more, by the function itself, is followed.
Tensors follow_captured(Tensors results, std::span<const Tensor> computed);

// In a trace that nobody follows: what is computed, with its rules beside it for whoever
// differentiates the program.
bool is_recorded(std::span<const Tensor> arguments);
Tensors record_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Forward& forward, const Backward& backward);
Tensors record_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along);

void check_count(std::string_view what, size_t given, size_t wanted);
// The tangents or cotangents that a rule gives for values of these types: none for those that have
// none. ShapeError or TypeError where they are others.
Tensors fitted(std::string_view what, Tensors given, std::span<const OperandType> wanted);

// A function of trees as one of their leaves; notes the result, whose structure it is.
template <class F, class Arguments, class Result>
auto on_leaves(const F& f, const Arguments& like, std::optional<Result>& result) {
  return [&](std::span<const Tensor> given) {
    result.emplace(std::apply(f, with_tensors(like, given)));
    return tensors_of(*result);
  };
}

}  // namespace customs

// f(arguments…) gives a result; forward(arguments…) the pair of it and what backward needs;
// backward(kept, cotangent of the result) the tuple of the arguments' cotangents.
template <class F, class Forward, class Backward>
auto custom_vjp(F f, Forward forward, Backward backward) {
  return [=](const auto&... arguments) {
    using Both = decltype(forward(arguments...));
    const customs::Tensors given = vary_together(tensors_of(std::tuple(arguments...)));
    const std::tuple all = with_tensors(std::tuple(arguments...), given);
    const bool is_recorded = customs::is_recorded(given);
    if (!is_recorded && !customs::is_followed(given)) return std::apply(f, all);
    std::optional<decltype(f(arguments...))> result;
    const TensorFunction function = customs::on_leaves(f, all, result);
    const auto both = std::make_shared<std::optional<Both>>();  // the tensors are empty
    const customs::Forward forwards = [&](std::span<const Tensor> at) {
      Both found = std::apply(forward, with_tensors(all, at));
      std::pair leaves{tensors_of(found.first), tensors_of(found.second)};
      both->emplace(without_tensors(std::move(found)));
      return leaves;
    };
    const customs::Backward back = [=](std::span<const Tensor> at,
                                       std::span<const Tensor> cotangents) {
      return tensors_of(
          backward(with_tensors((*both)->second, at), with_tensors((*both)->first, cotangents)));
    };
    const customs::Tensors results = is_recorded
                                         ? customs::record_vjp(given, function, forwards, back)
                                         : customs::follow_vjp(given, function, forwards, back);
    return result ? with_tensors(*result, results) : with_tensors((*both)->first, results);
  };
}

// f(arguments…) gives a result; rule(tuple of arguments, tuple of their tangents) the pair of it
// and its tangent, which must be linear in the tangents.
template <class F, class Rule>
auto custom_jvp(F f, Rule rule) {
  return [=](const auto&... arguments) {
    const customs::Tensors given = vary_together(tensors_of(std::tuple(arguments...)));
    const std::tuple all = with_tensors(std::tuple(arguments...), given);
    const bool is_recorded = customs::is_recorded(given);
    if (!is_recorded && !customs::is_followed(given)) return std::apply(f, all);
    using Result = decltype(f(arguments...));
    const auto known = std::make_shared<std::optional<Result>>();  // the tensors are empty
    const customs::Along along = [=](std::span<const Tensor> at, std::span<const Tensor> tangents) {
      const auto [value, tangent] = rule(with_tensors(all, at), with_tensors(all, tangents));
      if (!*known) known->emplace(without_tensors(Result(value)));
      return std::pair{tensors_of(value), tensors_of(tangent)};
    };
    std::optional<Result> result;
    const TensorFunction function = customs::on_leaves(f, all, result);
    const customs::Tensors results = is_recorded ? customs::record_jvp(given, function, along)
                                                 : customs::follow_jvp(given, function, along);
    return with_tensors(result ? *result : **known, results);
  };
}

}  // namespace plait
