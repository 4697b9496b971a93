// Functions that say themselves what their derivative is.
//
//   const auto safe_log = custom_jvp([](Tensor x) { return log(x); },
//                                    [](std::tuple<Tensor> x, std::tuple<Tensor> dx) {
//                                      return std::pair{log(...), where(x > 0, dx / x, 0)};
//                                    });
//   const auto clipped = custom_vjp(f, forward, backward);
//
// Both serve forward and reverse mode, and any order: where only one mode's rule is given, the
// other is its transpose. Arguments and results are trees of tensors.
#pragma once

#include "plait/core/tree.h"
#include "plait/tensor/named_axes.h"
#include "plait/transform/follow.h"

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
// Runs `forward` with the levels paused that need not see how it computes.
void run_forward(std::span<const Tensor> arguments, const std::function<void()>& forward);
Tensors follow_vjp(std::span<const Tensor> arguments, Tensors results, Tensors residuals,
                   const Backward& backward);
Tensors follow_jvp(std::span<const Tensor> arguments, Tensors results, const Along& along);

// In a trace that nobody follows: what is computed, with its rules beside it for whoever
// differentiates the program. `forward` gives the results and the residuals.
bool is_recorded(std::span<const Tensor> arguments);
Tensors record_vjp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const TensorFunction& forward, const Backward& backward);
Tensors record_jvp(std::span<const Tensor> arguments, const TensorFunction& function,
                   const Along& along);
void check_count(std::string_view what, size_t given, size_t wanted);

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
    const customs::Tensors given = vary_together(tensors_of(std::tuple(arguments...)));
    const std::tuple all = with_tensors(std::tuple(arguments...), given);
    std::optional<decltype(f(arguments...))> plain;
    std::optional<decltype(forward(arguments...))> both;
    if (customs::is_recorded(given)) {
      const auto back = [&](std::span<const Tensor> at, std::span<const Tensor> cotangents) {
        return tensors_of(
            backward(with_tensors(both->second, at), with_tensors(both->first, cotangents)));
      };
      const customs::Tensors results = customs::record_vjp(
          given, customs::on_leaves(f, all, plain), customs::on_leaves(forward, all, both), back);
      return with_tensors(*plain, results);
    }
    if (!customs::is_followed(given)) return std::apply(f, all);
    customs::run_forward(given, [&] { both.emplace(std::apply(forward, all)); });
    auto& [result, kept] = *both;
    customs::Tensors residuals = tensors_of(kept);
    const auto pull = [=, kept = without_tensors(kept), like = without_tensors(result)](
                          std::span<const Tensor> at, std::span<const Tensor> cotangents) {
      return tensors_of(backward(with_tensors(kept, at), with_tensors(like, cotangents)));
    };
    return with_tensors(result,
                        customs::follow_vjp(given, tensors_of(result), std::move(residuals), pull));
  };
}

// f(arguments…) gives a result; rule(tuple of arguments, tuple of their tangents) the pair of it
// and its tangent, which must be linear in the tangents.
template <class F, class Rule>
auto custom_jvp(F f, Rule rule) {
  return [=](const auto&... arguments) {
    const customs::Tensors given = vary_together(tensors_of(std::tuple(arguments...)));
    const std::tuple all = with_tensors(std::tuple(arguments...), given);
    const auto along = [=](std::span<const Tensor> at, std::span<const Tensor> tangents) {
      const auto [value, tangent] = rule(with_tensors(all, at), with_tensors(all, tangents));
      return std::pair{tensors_of(value), tensors_of(tangent)};
    };
    if (customs::is_recorded(given)) {
      std::optional<decltype(f(arguments...))> plain;
      const customs::Tensors results =
          customs::record_jvp(given, customs::on_leaves(f, all, plain), along);
      return with_tensors(*plain, results);
    }
    if (!customs::is_followed(given)) return std::apply(f, all);
    auto result = [&] {
      const LevelPause pause;
      return std::apply(f, all);
    }();
    return with_tensors(result, customs::follow_jvp(given, tensors_of(result), along));
  };
}

}  // namespace plait
