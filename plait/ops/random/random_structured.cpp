// Random vectors and matrices, and choices.
#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/random/random_functions.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"
#include "plait/ops/reductions/statistics.h"

namespace plait::random {
namespace {

// All sizes but the last `count`.
Shape in_front(const Tensor& x, size_t count) {
  return Shape(x.shape().dims().first(x.rank() - count));
}

Shape with(Shape shape, std::initializer_list<Dim> sizes) {
  for (const Dim size : sizes) shape.append(size);
  return shape;
}

// A matrix S with S Sᵀ = covariance.
Tensor root_of(const Tensor& covariance, CovarianceRoot root) {
  if (root == CovarianceRoot::cholesky) return linalg::cholesky(covariance);
  const linalg::Eigenpairs pairs = linalg::eigh(covariance);
  // Negative eigenvalues are rounding errors.
  return pairs.vectors * expand_dims(sqrt(maximum(pairs.values, 0)), -2);
}

// Numbers from [0, count).
Tensor chosen(const Tensor& key, Dim count, const Shape& shape, const ChoiceOptions& options) {
  if (count.is_number() && count.number() < 0) {
    throw ValueError("choice: the count is {}, expected 0 or more", count)
        .at(Location::of_caller());
  }
  Tensor weights;
  if (options.p) {
    weights = Parameter{"p", options.p}.as("choice", DType::f64);
    if (!same(weights.shape(), Shape{count})) {
      throw ShapeError("choice: p is {}, expected {} probabilities", options.p.type().text(), count)
          .at(Location::of_caller());
    }
    check(all(greater_equal(weights, 0)), "choice: p has negative numbers or NaN");
  }
  if (options.replace) {
    if (!weights) return randint(key, shape, 0, count);
    // Inversion: the intervals of the cumulative weights in which uniform numbers fall.
    const Tensor steps = cumsum(weights, 0);
    const Tensor total = slice_axis(steps, 0, count - 1, 1);
    return searchsorted(steps, uniform(key, shape, 0, 1, DType::f64) * squeeze(total, 0),
                        SearchSide::right);
  }
  const Dim wanted = shape.element_count();
  if (wanted.is_number() && count.is_number() && wanted.number() > count.number()) {
    throw ValueError("choice: cannot draw {} of {} without replacement", wanted, count)
        .at(Location::of_caller());
  }
  if (weights) {
    check(greater_equal(count_nonzero(weights), wanted),
          "choice: p has fewer nonzero probabilities than are drawn without replacement");
  }
  // Gumbel top-k: the greatest values of log weight + gumbel, in order, are a sample without
  // replacement.
  const Tensor order =
      weights ? topk(gumbel(key, {count}, DType::f64) + log(weights), wanted).indices
              : slice_axis(permutation(key, count), static_cast<int64_t>(key.rank()), 0, wanted);
  return reshape(order, behind_keys(key, shape));
}

}  // namespace

Tensor dirichlet(const Tensor& key, const Tensor& concentration, const std::optional<Shape>& shape,
                 std::optional<DType> dtype) {
  const Call call("dirichlet", key, concentration);
  expect_key("dirichlet", key);
  if (concentration.rank() == 0) {
    throw ShapeError("dirichlet: expected concentrations along an axis, not a scalar {}",
                     concentration.type().text())
        .at(Location::of_caller());
  }
  const Shape rows = shape_of_result("dirichlet", shape, in_front(concentration, 1));
  const Tensor logs =
      loggamma(key, Parameter{"concentration", concentration}.as("dirichlet", DType::f64),
               with(rows, {concentration.shape(-1)}));
  const DType wanted = dtype.value_or(inexact(concentration.dtype()));
  expect_floating("dirichlet", wanted);
  return astype(softmax(logs, -1), wanted);
}

Tensor multivariate_normal(const Tensor& key, const Tensor& mean, const Tensor& covariance,
                           const std::optional<Shape>& shape, CovarianceRoot root,
                           std::optional<DType> dtype) {
  const Call call("multivariate_normal", key, mean, covariance);
  expect_key("multivariate_normal", key);
  const DType wanted = dtype.value_or(inexact(common_dtype(mean, covariance)));
  expect_floating("multivariate_normal", wanted);
  const bool fits = mean.rank() >= 1 && covariance.rank() >= 2 &&
                    same(mean.shape(-1), covariance.shape(-1)) &&
                    same(covariance.shape(-2), covariance.shape(-1));
  if (!fits) {
    throw ShapeError("multivariate_normal: the mean {} and the covariance {} do not match",
                     mean.type().text(), covariance.type().text())
        .at(Location::of_caller());
  }
  const Shape rows = shape_of_result(
      "multivariate_normal", shape,
      common_shape("multivariate_normal", in_front(mean, 1), in_front(covariance, 2)));
  const DType wide = computed(wanted);
  const Tensor standard = normal(key, with(rows, {mean.shape(-1)}), 0., 1., wide);
  const Tensor turned =
      matmul(root_of(Parameter{"covariance", covariance}.as("multivariate_normal", wide), root),
             expand_dims(standard, -1));
  return astype(squeeze(turned, -1) + Parameter{"mean", mean}.as("multivariate_normal", wide),
                wanted);
}

// Q of a normal matrix, with signs such that R has a positive diagonal. This makes the distribution
// uniform (Haar), whatever signs the library chooses for Q.
Tensor orthogonal(const Tensor& key, Dim n, const Shape& shape, DType dtype) {
  const Call call("orthogonal", key, shape);
  expect_key("orthogonal", key);
  expect_floating("orthogonal", dtype);
  const linalg::Qr qr = linalg::qr(normal(key, with(shape, {n, n}), 0., 1., computed(dtype)));
  const Tensor signs = where(diagonal(qr.r) < 0, -1, 1);
  return astype(qr.q * expand_dims(signs, -2), dtype);
}

// Barthe, Guédon, Mendelson and Naor ("A probabilistic approach to the geometry of the l_p^n-ball",
// 2005): numbers with density proportional to e^(-|x|^p), divided by the p-norm of these numbers
// and one additional exponential number.
Tensor ball(const Tensor& key, Dim d, double p, const Shape& shape, DType dtype) {
  const Call call("ball", key, shape);
  expect_key("ball", key);
  expect_floating("ball", dtype);
  const Tensor x = generalized_normal(fold_in(key, 0), p, with(shape, {d}), DType::f64);
  const Tensor more = exponential(fold_in(key, 1), shape, DType::f64);
  const Tensor norm = power(sum(power(absolute(x), p), -1) + more, 1 / p);
  return astype(x / expand_dims(norm, -1), dtype);
}

Tensor choice(const Tensor& key, Dim count, const Shape& shape, const ChoiceOptions& options) {
  const Call call("choice", key, shape);
  return chosen(expect_key("choice", key), count, shape, options);
}

Tensor choice(const Tensor& key, const Tensor& x, const Shape& shape,
              const ChoiceOptions& options) {
  const Call call("choice", key, x, shape);
  expect_key("choice", key);
  const int64_t axis = normal_axis(options.axis, x.rank());
  const Tensor taken = take(x, chosen(key, x.shape(axis), shape, options), axis);
  // Moves the dimensions of the keys to the front.
  std::vector<int64_t> from, to;
  for (int64_t i = 0; i < static_cast<int64_t>(key.rank()); ++i) {
    from.push_back(axis + i);
    to.push_back(i);
  }
  return moveaxis(taken, from, to);
}

// ---- From the default stream.

Tensor dirichlet(const Tensor& concentration, const std::optional<Shape>& shape,
                 std::optional<DType> dtype) {
  return from_stream(
      [&](const Tensor& key) { return dirichlet(key, concentration, shape, dtype); });
}
Tensor multivariate_normal(const Tensor& mean, const Tensor& covariance,
                           const std::optional<Shape>& shape, CovarianceRoot root,
                           std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) {
    return multivariate_normal(key, mean, covariance, shape, root, dtype);
  });
}
Tensor orthogonal(Dim n, const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return orthogonal(key, n, shape, dtype); });
}
Tensor ball(Dim d, double p, const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return ball(key, d, p, shape, dtype); });
}
Tensor choice(Dim count, const Shape& shape, const ChoiceOptions& options) {
  return from_stream([&](const Tensor& key) { return choice(key, count, shape, options); });
}
Tensor choice(const Tensor& x, const Shape& shape, const ChoiceOptions& options) {
  return from_stream([&](const Tensor& key) { return choice(key, x, shape, options); });
}

}  // namespace plait::random
