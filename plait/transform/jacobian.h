// Derivatives of arrays by arrays, and second derivatives.
#pragma once

#include "plait/transform/grad.h"

namespace plait {

namespace jacobians {

using Function = std::function<Tensor(const Tensor&)>;
Tensor forward(const Function& f, const Tensor& x);
Tensor reverse(const Function& f, const Tensor& x);

}  // namespace jacobians

// The derivative of each element of f(x) by each of x: the shape of f(x), then that of x. All
// columns, or all rows, at once: jacfwd where x is small, jacrev where f(x) is. The function itself
// runs once.
template <class F>
auto jacfwd(F f) {
  return transformed(std::move(f), [](const F& function, const Tensor& x) {
    return jacobians::forward(function, x);
  });
}
template <class F>
auto jacrev(F f) {
  return transformed(std::move(f), [](const F& function, const Tensor& x) {
    return jacobians::reverse(function, x);
  });
}
// The second derivatives of a number: the shape of x twice.
template <class F>
auto hessian(F f) {
  return jacfwd(grad(std::move(f)));
}

// The product of the second derivatives by the first argument with a vector of its structure,
// without making the matrix: forward over reverse.
template <class F, class First, class... Rest>
auto hvp(const F& f, const First& x, const First& vector, const Rest&... rest) {
  const auto gradient = [&](const First& at) { return grad(f)(at, rest...); };
  return jvp(gradient, std::tuple(x), std::tuple(vector)).second;
}

}  // namespace plait
