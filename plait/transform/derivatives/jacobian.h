// Jacobians, Hessians, and products with them.
//
//   Tensor matrix = jacfwd(f)(x);                        // the shape of f(x), then that of x
//   Parameters rows = jacrev(residuals)(parameters, x);  // a struct, if the result is one tensor
//   auto [by_a, by_c] = jacfwd<0, 2>(f)(a, b, c);
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/transform/derivatives/grad.h"

namespace plait {

struct JacobianOptions {
  bool holomorphic = false;  // complex results and arguments; the complex derivative
};

namespace jacobians {

// One row a tensor of the result, with its Jacobian by each of the arguments.
using Matrix = std::vector<std::vector<Tensor>>;
using Function = FunctionRef<std::vector<Tensor>(std::span<const Tensor>)>;
// TypeError for complex arguments (forward) or results (reverse), unless holomorphic.
Matrix forward(Function f, std::span<const Tensor> arguments, const JacobianOptions& options);
Matrix reverse(Function f, std::span<const Tensor> arguments, const JacobianOptions& options);

template <class T>
inline constexpr bool is_tuple = false;
template <class... Parts>
inline constexpr bool is_tuple<std::tuple<Parts...>> = true;

// Arranges the next rows of a matrix as trees: each tensor of the result is replaced by a tree with
// the structure of the arguments.
template <class Result, class Arguments>
auto arranged(const Result& result, const Arguments& arguments,
              std::span<const std::vector<Tensor>>& rows) {
  if constexpr (std::is_same_v<Result, Tensor>) {
    auto row = with_tensors(arguments, rows.front());
    rows = rows.subspan(1);
    return row;
  } else if constexpr (is_tuple<Result>) {
    return std::apply(
        [&](const auto&... parts) { return std::tuple{arranged(parts, arguments, rows)...}; },
        result);
  } else {
    static_assert(std::is_same_v<Arguments, Tensor>,
                  "the derivative of a struct by a struct is not a struct: let the function return "
                  "a tensor or a tuple of tensors, or take one tensor");
    return map_leaves(result, [&](const Tensor&) {
      Tensor only = rows.front()[0];
      rows = rows.subspan(1);
      return only;
    });
  }
}

// Jacobian with respect to the wanted arguments: of a single one alone, of several as a tuple.
template <size_t... wanted, class F, class... Arguments>
auto take(decltype(forward)* make, const F& f, const JacobianOptions& options,
          const std::tuple<Arguments...>& arguments) {
  if constexpr (sizeof...(wanted) == 0) {
    return take<0>(make, f, options, arguments);
  } else {
    const auto chosen = [&] {
      const std::tuple several(std::get<wanted>(arguments)...);
      if constexpr (sizeof...(wanted) == 1) {
        return std::get<0>(several);
      } else {
        return several;
      }
    }();
    std::optional<decltype(std::apply(f, arguments))> result;
    const auto on_leaves = [&](std::span<const Tensor> given) {
      auto all = arguments;
      const auto put = [&](auto& argument) {
        for_each_tensor(argument, [&](Tensor& leaf) {
          leaf = given.front();
          given = given.subspan(1);
        });
      };
      (put(std::get<wanted>(all)), ...);
      result.emplace(std::apply(f, all));
      return tensors_of(*result);
    };
    const Matrix matrix = make(on_leaves, tensors_of(chosen), options);
    std::span<const std::vector<Tensor>> rows = matrix;
    return arranged(*result, chosen, rows);
  }
}

}  // namespace jacobians

// The Jacobian of the result with respect to the first argument, or to the arguments with these
// indices. All columns (or rows) are computed together. Use jacfwd for small arguments, jacrev for
// small results. The function itself runs once.
template <size_t... wanted, class F>
auto jacfwd(F f, JacobianOptions options = {}) {
  return transformed(std::move(f), [=](const F& function, const auto&... arguments) {
    return jacobians::take<wanted...>(jacobians::forward, function, options,
                                      std::tuple(arguments...));
  });
}
template <size_t... wanted, class F>
auto jacrev(F f, JacobianOptions options = {}) {
  return transformed(std::move(f), [=](const F& function, const auto&... arguments) {
    return jacobians::take<wanted...>(jacobians::reverse, function, options,
                                      std::tuple(arguments...));
  });
}
// The Hessian of a real-valued function: it has the shape of x twice; for several arguments it is a
// tuple of tuples.
template <size_t... wanted, class F>
auto hessian(F f, JacobianOptions options = {}) {
  return jacfwd<wanted...>(grad<wanted...>(std::move(f), {.holomorphic = options.holomorphic}),
                           options);
}

// Hessian-vector product with respect to the first argument, without forming the matrix: forward
// over reverse.
template <class F, class First, class... Rest>
auto hvp(const F& f, const First& x, const First& vector, const Rest&... rest) {
  const auto gradient = [&](const First& at) { return grad(f)(at, rest...); };
  return jvp(gradient, std::tuple(x), std::tuple(vector)).second;
}

}  // namespace plait
