// grad(f): the gradient of a real-valued function, as a function.
//
//   auto [loss, gradient] = value_and_grad(loss_of)(model, batch);   // the same struct as model
//   Tensor third = grad(grad(grad(f)))(x);
//   auto [by_first, by_third] = grad<0, 2>(f)(a, b, c);
#pragma once

#include "plait/core/transformed.h"
#include "plait/transform/derivatives/vjp.h"

namespace plait {

struct GradOptions {
  bool holomorphic = false;     // complex result and arguments; the complex derivative
  bool allow_integers = false;  // integer arguments are allowed; their gradient is an empty tensor
};

// Tag for functions that return a pair: the number to differentiate, and auxiliary results, which
// are returned unchanged.
struct WithAux {};
inline constexpr WithAux with_aux;

namespace gradients {

// TypeError that names the leaf if it cannot have a gradient.
void check_argument(const Tensor& leaf, std::string_view path, size_t argument,
                    const GradOptions& options);
// TypeError or ShapeError unless the result is one real number (complex if holomorphic).
void check_result(const Tensor& result, const GradOptions& options);
Tensor one_like(const Tensor& number);

// Returns the result, and the gradient with respect to the wanted arguments: of a single one alone,
// of several as a tuple.
template <size_t... wanted, bool has_aux, class F, class... Arguments>
auto take(const F& f, const GradOptions& options, std::bool_constant<has_aux>,
          std::tuple<Arguments...> arguments) {
  Pullback pullback;
  const auto begin = [&](auto index) {
    const auto follow = [&](std::string_view path, Tensor& leaf, bool is_buffer) {
      if (!is_buffer) check_argument(leaf, path, index, options);
      leaf = is_buffer ? pullback.begin_constant(leaf) : pullback.begin(leaf);
    };
    for_each_leaf_and_role(std::get<index>(arguments), follow);
  };
  (begin(std::integral_constant<size_t, wanted>()), ...);
  auto result = std::apply(f, arguments);
  Tensor value;
  if constexpr (has_aux) {
    check_result(std::get<0>(result), options);
    std::get<0>(result) = value = pullback.finish(std::get<0>(result));
    std::get<1>(result) = map_leaves(std::move(std::get<1>(result)),
                                     [&](const Tensor& leaf) { return pullback.passed(leaf); });
  } else {
    check_result(result, options);
    result = value = pullback.finish(result);
  }
  pullback.close();
  const Tensor one = one_like(value);
  const std::vector<Tensor> all = pullback({&one, 1}, false);
  size_t next = 0;
  const auto gradient = [&](auto index) {
    auto tree = std::get<index>(std::move(arguments));
    for_each_tensor(tree, [&](Tensor& leaf) { leaf = all[next++]; });
    return tree;
  };
  if constexpr (sizeof...(wanted) == 1) {
    return std::pair{std::move(result), gradient(std::integral_constant<size_t, wanted...>())};
  } else {
    return std::pair{std::move(result),
                     std::tuple{gradient(std::integral_constant<size_t, wanted>())...}};
  }
}

template <size_t... wanted, class F, class Aux>
auto function(F f, GradOptions options, Aux aux, auto give) {
  return transformed(std::move(f), [=](const F& function, const auto&... arguments) {
    if constexpr (sizeof...(wanted) == 0) {
      return give(take<0>(function, options, aux, std::tuple(arguments...)));
    } else {
      return give(take<wanted...>(function, options, aux, std::tuple(arguments...)));
    }
  });
}

inline constexpr auto kBoth = [](auto both) { return both; };
inline constexpr auto kGradient = [](auto both) { return std::move(both.second); };
// ((value, aux), gradient) → (gradient, aux)
inline constexpr auto kGradientAndAux = [](auto both) {
  return std::pair{std::move(both.second), std::move(std::get<1>(both.first))};
};

}  // namespace gradients

// Returns (value, gradient) with respect to the first argument, or to the arguments with
// these indices.
template <size_t... wanted, class F>
auto value_and_grad(F f, GradOptions options = {}) {
  return gradients::function<wanted...>(std::move(f), options, std::false_type(), gradients::kBoth);
}
// Returns ((value, aux), gradient).
template <size_t... wanted, class F>
auto value_and_grad(F f, WithAux, GradOptions options = {}) {
  return gradients::function<wanted...>(std::move(f), options, std::true_type(), gradients::kBoth);
}
template <size_t... wanted, class F>
auto grad(F f, GradOptions options = {}) {
  return gradients::function<wanted...>(std::move(f), options, std::false_type(),
                                        gradients::kGradient);
}
// Returns (gradient, aux).
template <size_t... wanted, class F>
auto grad(F f, WithAux, GradOptions options = {}) {
  return gradients::function<wanted...>(std::move(f), options, std::true_type(),
                                        gradients::kGradientAndAux);
}

}  // namespace plait
