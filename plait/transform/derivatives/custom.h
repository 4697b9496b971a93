// Functions with user-defined derivatives.
//
//   const auto safe_log = custom_jvp([](Tensor x) { return log(x); },
//                                    [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
//                                      return std::pair{log(...), where(x > 0, dx / x, 0)};
//                                    });
//   const auto clipped = custom_vjp(f, forward, backward);
//
// Both work in forward and reverse mode, to any order: the rule of the other mode is the transpose.
// Arguments and results are trees of tensors. The rule covers the arguments; with respect to
// captured tensors, the function itself is differentiated. Higher derivatives differentiate the
// rule, or its forward function.
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
// Maps residuals and the cotangents of the results to the cotangents of the arguments; empty for
// arguments without a derivative.
using Backward =
    std::function<Tensors(std::span<const Tensor> residuals, std::span<const Tensor> cotangents)>;
// Returns the results and their tangents, given the arguments' tangents; an empty tangent is zero.
using Along = std::function<std::pair<Tensors, Tensors>(std::span<const Tensor> arguments,
                                                        std::span<const Tensor> tangents)>;

bool is_followed(std::span<const Tensor> arguments);
// Returns the results and the residuals that the backward function needs.
using Forward = std::function<std::pair<Tensors, Tensors>(std::span<const Tensor> arguments)>;
// `function` returns the results alone.
Tensors follow_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Forward& forward, const Backward& backward);
Tensors follow_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along);
// Returns `results`, differentiated as `computed`: the same values, computed by the
// function itself.
Tensors follow_captured(Tensors results, std::span<const Tensor> computed);

// In a trace without derivatives: records the function together with its rules, for later
// derivatives of the program.
bool is_recorded(std::span<const Tensor> arguments);
Tensors record_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Forward& forward, const Backward& backward);
Tensors record_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along);

void check_count(std::string_view what, size_t given, size_t wanted);
// Checks the tangents or cotangents that a rule returned against these types, and casts them; empty
// for types without a tangent. ShapeError or TypeError if they do not fit.
Tensors fitted(std::string_view what, Tensors given, std::span<const OperandType> wanted);

// Wraps a function of trees as a function of leaves; stores its result for the structure.
template <class F, class Arguments, class Result>
auto on_leaves(const F& f, const Arguments& like, std::optional<Result>& result) {
  return [&](std::span<const Tensor> given) {
    result.emplace(std::apply(f, with_tensors(like, given)));
    return tensors_of(*result);
  };
}

}  // namespace customs

// f(arguments…) returns a result; forward(arguments…) returns the pair of result and residuals;
// backward(residuals, cotangent of the result) returns the tuple of the arguments' cotangents.
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
    const auto both = std::make_shared<std::optional<Both>>();  // without its tensors
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

// f(arguments…) returns a result; rule(tuple of arguments, tuple of their tangents) returns the
// pair of the result and its tangent, which must be linear in the arguments' tangents.
template <class F, class Rule>
auto custom_jvp(F f, Rule rule) {
  return [=](const auto&... arguments) {
    const customs::Tensors given = vary_together(tensors_of(std::tuple(arguments...)));
    const std::tuple all = with_tensors(std::tuple(arguments...), given);
    const bool is_recorded = customs::is_recorded(given);
    if (!is_recorded && !customs::is_followed(given)) return std::apply(f, all);
    using Result = decltype(f(arguments...));
    const auto known = std::make_shared<std::optional<Result>>();  // without its tensors
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
