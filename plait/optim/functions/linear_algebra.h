// Iterations for linear problems, with optax's names: the greatest eigenvalue, and least squares of
// numbers of 0 or more.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/optim/number.h"
#include "plait/tensor/tensor.h"

namespace plait::optim {

struct PowerIterationOptions {
  Tensor v0 = {};           // where the iteration begins, instead of at random
  int64_t num_iters = 100;  // products at most
  Number error_tolerance = 1e-6;
  Tensor key = {};  // key of the random beginning; key(0) by default
};

using VectorProduct = std::function<std::vector<Tensor>(std::span<const Tensor>)>;
// The eigenvalue and the eigenvector of a function of the tensors of a tree.
std::pair<Tensor, std::vector<Tensor>> iterated_power(const VectorProduct& product,
                                                      std::span<const Tensor> v0,
                                                      const PowerIterationOptions& options);

// The eigenvalue of the greatest absolute value, and its eigenvector, of a matrix [n, n] that has a
// basis of eigenvectors: fewer products than num_iters if the relative error is below the
// tolerance. Without v0 it begins with uniform random numbers between −1 and 1.
std::pair<Tensor, Tensor> power_iteration(const Tensor& matrix,
                                          const PowerIterationOptions& options = {});
// The same of a matrix that is a function of a tree of tensors, from v0 on.
template <class F, class Tree>
  requires(!std::same_as<F, Tensor>)
std::pair<Tensor, Tree> power_iteration(const F& product, const Tree& v0,
                                        const PowerIterationOptions& options = {}) {
  const auto on_leaves = [&](std::span<const Tensor> given) {
    const Tree made = product(with_tensors(v0, given));
    return tensors_of(made);
  };
  const auto [value, vector] = iterated_power(on_leaves, tensors_of(v0), options);
  return {value, with_tensors(v0, vector)};
}

struct NnlsOptions {
  int64_t unroll = 1;
  // A bound of the greatest eigenvalue of AᵀA, of which one is computed otherwise.
  std::optional<Number> L = {};  // NOLINT: the name is optax's
};
// The x of 0 or more whose A x is nearest to b, for A [m, n] and b [m] or [m, k], by `iters` steps
// of an accelerated projected gradient.
Tensor nnls(const Tensor& A, const Tensor& b, int64_t iters,  // NOLINT: the names are optax's
            const NnlsOptions& options = {});

}  // namespace plait::optim
