#include "plait/nn/models/parametrizations.h"

#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_changes.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::nn {
namespace {

constexpr int kFirstIterations = 15;
constexpr std::string_view kVectors = "the vectors of the spectral norm";

void expect_weight(const Tensor& weight) {
  if (weight.rank() > 0 && is_floating(weight.dtype())) return;
  throw TypeError("the weight is {}, expected floats", weight.type().text())
      .at(Location::of_caller());
}

// The axis, counted from the front.
int64_t axis_of(int64_t dim, const Tensor& weight) {
  const auto rank = static_cast<int64_t>(weight.rank());
  if (dim < -rank || dim >= rank) {
    throw IndexError("dim is {}, out of range for {}", dim, weight.type().text())
        .at(Location::of_caller());
  }
  return dim < 0 ? dim + rank : dim;
}

Tensor norms_of(const Tensor& v, std::optional<int64_t> dim) {
  if (!dim) return sqrt(sum(square(v)));
  std::vector<int64_t> others;
  for (int64_t axis = 0; axis < static_cast<int64_t>(v.rank()); ++axis) {
    if (axis != *dim) others.push_back(axis);
  }
  return others.empty() ? absolute(v) : sqrt(sum(square(v), others, true));
}

Tensor unit(const Tensor& x, double eps) { return normalize(x, 2, 0, eps); }

// The weight as [rows, everything else].
Tensor matrix_of(const Tensor& weight, int64_t dim) {
  const Dim rows = weight.shape(dim);
  Dim columns = 1;
  for (size_t i = 0; i < weight.rank(); ++i) {
    if (static_cast<int64_t>(i) != dim) columns = columns * weight.shape()[i];
  }
  return reshape(moveaxis(weight, dim, 0), {rows, columns});
}

SpectralVectors improved(SpectralVectors vectors, const Tensor& matrix, int64_t times, double eps) {
  for (int64_t i = 0; i < times; ++i) {
    vectors.u = unit(matmul(matrix, vectors.v), eps);
    vectors.v = unit(matmul(matrix_transpose(matrix), vectors.u), eps);
  }
  return vectors;
}

void expect_options(const SpectralNormOptions& options) {
  if (options.n_power_iterations < 1) {
    throw ValueError("n_power_iterations is {}, expected 1 or more", options.n_power_iterations)
        .at(Location::of_caller());
  }
  expect_not_negative("eps", options.eps);
}

}  // namespace

const Tensor& present(const std::optional<Tensor>& weight) {
  if (weight) return *weight;
  throw ValueError("nn::parametrized: the layer has no weight").at(Location::of_caller());
}

NormedWeight NormedWeight::of(const Tensor& weight, std::optional<int64_t> dim) {
  const Call call("nn::weight_norm", weight);
  expect_weight(weight);
  if (dim == -1) dim.reset();
  if (dim) dim = axis_of(*dim, weight);
  return {.original0 = norms_of(weight, dim), .original1 = weight, .dim = dim};
}

Tensor NormedWeight::value() const { return original1 * (original0 / norms_of(original1, dim)); }

SpectralWeight SpectralWeight::of(const Tensor& key, const Tensor& weight, int64_t dim,
                                  const SpectralNormOptions& options) {
  const Call call("nn::spectral_norm", weight);
  expect_options(options);
  expect_weight(weight);
  SpectralWeight made{.original = weight,
                      .vectors = {},
                      .n_power_iterations = options.n_power_iterations,
                      .dim = axis_of(dim, weight),
                      .eps = options.eps};
  if (weight.rank() == 1) return made;
  const Tensor matrix = stop_gradient(matrix_of(weight, made.dim));
  const Tensor keys = keys_of(key, 2);
  const auto begin = [&](int64_t i) {
    return unit(random::normal(keys[i], {matrix.shape(i)}, 0., 1., weight.dtype()), options.eps);
  };
  made.vectors = improved({.u = begin(0), .v = begin(1)}, matrix, kFirstIterations, options.eps);
  return made;
}

Tensor SpectralWeight::value() const {
  if (!vectors) return unit(original, eps);
  const Tensor along = matmul(matrix_of(original, dim), vectors->v);
  return original / sum(vectors->u * along);
}

SpectralWeight SpectralWeight::next() const {
  SpectralWeight made = *this;
  if (training && vectors) {
    const Tensor matrix = stop_gradient(matrix_of(original, dim));
    made.vectors = improved(*vectors, matrix, n_power_iterations, eps);
    expect_same_record(kVectors, vectors->u, made.vectors->u);
  }
  return made;
}
Tensor value_in_const(const SpectralWeight& computed) {
  if (computed.training && computed.vectors) refuse_const_layer(kVectors);
  return computed.value();
}

}  // namespace plait::nn
