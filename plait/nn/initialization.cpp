#include "plait/nn/initialization.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/pad.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/sort.h"

namespace plait::nn {
namespace {

// Standard deviation; 0 for an infinite variance, that is, without inputs.
double deviation_of(double variance) { return std::isfinite(variance) ? std::sqrt(variance) : 0; }
// Uniform numbers in ±√3 σ have the standard deviation σ.
double bound_of(double variance) { return std::sqrt(3.) * deviation_of(variance); }

double kaiming_variance(const Shape& shape, const KaimingOptions& options) {
  const Fans fans = fans_of(shape);
  const double gain = calculate_gain(options.nonlinearity, options.a);
  return gain * gain / static_cast<double>(options.mode == Fan::in ? fans.in : fans.out);
}

double xavier_variance(const Shape& shape, double gain) {
  expect_number("gain", gain);
  const Fans fans = fans_of(shape);
  return 2 * gain * gain / static_cast<double>(fans.in + fans.out);
}

// The sizes, of which there are from `least` to `most`.
std::vector<int64_t> sizes_of(const Shape& shape, size_t least, size_t most,
                              std::string_view meaning) {
  if (shape.rank() < least || shape.rank() > most) {
    throw ShapeError("the weights are {}, expected {}", shape.text(), meaning)
        .at(Location::of_caller());
  }
  return shape.to_sizes();
}

bool is_empty(const std::vector<int64_t>& sizes) {
  return std::ranges::find(sizes, 0) != sizes.end();
}

}  // namespace

Fans fans_of(const Shape& shape) {
  if (shape.rank() < 2) {
    throw ShapeError("weights are {}, expected at least two dimensions: [outputs, inputs, …]",
                     shape.text());
  }
  const std::vector<int64_t> sizes = shape.to_sizes();
  int64_t space = 1;
  for (size_t i = 2; i < sizes.size(); ++i) space *= sizes[i];
  return {.in = sizes[1] * space, .out = sizes[0] * space};
}

double calculate_gain(Nonlinearity nonlinearity, double slope) {
  expect_number("slope", slope);
  switch (nonlinearity) {
    case Nonlinearity::tanh: return 5. / 3;
    case Nonlinearity::relu: return std::sqrt(2.);
    case Nonlinearity::leaky_relu: return std::sqrt(2 / (1 + slope * slope));
    case Nonlinearity::selu: return 0.75;
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid: break;
  }
  return 1;
}

Tensor uniform(const Tensor& key, const Shape& shape, double bound, DType dtype) {
  const Call call("nn::uniform", shape);
  expect_not_negative("bound", bound);
  return uniform(key, shape, -bound, bound, dtype);
}

Tensor uniform(const Tensor& key, const Shape& shape, double a, double b, DType dtype) {
  const Call call("nn::uniform", shape);
  expect_one_key(key);
  if (!(a <= b)) {
    throw ValueError("the numbers are from {} to {}, expected a range", a, b)
        .at(Location::of_caller());
  }
  if (a == b) return full(shape, b, dtype);  // an empty range has no numbers
  return random::uniform(key, shape, a, b, dtype);
}

Tensor normal(const Tensor& key, const Shape& shape, double mean, double std, DType dtype) {
  const Call call("nn::normal", shape);
  expect_one_key(key);
  expect_number("mean", mean);
  expect_not_negative("std", std);
  return random::normal(key, shape, mean, std, dtype);
}

Tensor trunc_normal(const Tensor& key, const Shape& shape, const TruncNormalOptions& options) {
  const Call call("nn::trunc_normal", shape);
  expect_one_key(key);
  expect_number("mean", options.mean);
  if (!(options.std > 0)) {
    throw ValueError("std is {}, expected more than 0", options.std).at(Location::of_caller());
  }
  if (!(options.a < options.b)) {
    throw ValueError("the bounds are {} and {}, expected a range", options.a, options.b)
        .at(Location::of_caller());
  }
  const auto unit_of = [&](double bound) { return (bound - options.mean) / options.std; };
  const Tensor unit =
      random::truncated_normal(key, unit_of(options.a), unit_of(options.b), shape, options.dtype);
  return clip(unit * options.std + options.mean, options.a, options.b);
}

Tensor kaiming_uniform(const Tensor& key, const Shape& shape, double slope, DType dtype) {
  return kaiming_uniform(key, shape, KaimingOptions{.a = slope, .dtype = dtype});
}

Tensor kaiming_uniform(const Tensor& key, const Shape& shape, const KaimingOptions& options) {
  const Call call("nn::kaiming_uniform", shape);
  return uniform(key, shape, bound_of(kaiming_variance(shape, options)), options.dtype);
}

Tensor kaiming_normal(const Tensor& key, const Shape& shape, double slope, DType dtype) {
  return kaiming_normal(key, shape, KaimingOptions{.a = slope, .dtype = dtype});
}

Tensor kaiming_normal(const Tensor& key, const Shape& shape, const KaimingOptions& options) {
  const Call call("nn::kaiming_normal", shape);
  return normal(key, shape, 0, deviation_of(kaiming_variance(shape, options)), options.dtype);
}

Tensor xavier_uniform(const Tensor& key, const Shape& shape, double gain, DType dtype) {
  const Call call("nn::xavier_uniform", shape);
  return uniform(key, shape, bound_of(xavier_variance(shape, gain)), dtype);
}

Tensor xavier_normal(const Tensor& key, const Shape& shape, double gain, DType dtype) {
  const Call call("nn::xavier_normal", shape);
  return normal(key, shape, 0, deviation_of(xavier_variance(shape, gain)), dtype);
}

Tensor orthogonal(const Tensor& key, const Shape& shape, double gain, DType dtype) {
  const Call call("nn::orthogonal", shape);
  expect_number("gain", gain);
  const auto sizes = sizes_of(shape, 2, SIZE_MAX, "at least two dimensions: [outputs, inputs, …]");
  if (is_empty(sizes)) return zeros(shape, dtype);
  const int64_t rows = sizes[0], columns = fans_of(shape).in;
  const auto [q, r] = linalg::qr(normal(key, {std::max(rows, columns), std::min(rows, columns)}, 0,
                                        1, dtype == DType::f64 ? DType::f64 : DType::f32));
  const Tensor matrix = q * sign(diagonal(r));  // otherwise it would not be uniformly distributed
  const Tensor weight = rows < columns ? matrix_transpose(matrix) : matrix;
  return astype(reshape(weight * gain, shape), dtype);
}

Tensor sparse(const Tensor& key, const Shape& shape, double sparsity, double std, DType dtype) {
  const Call call("nn::sparse", shape);
  const auto sizes = sizes_of(shape, 2, 2, "[outputs, inputs]");
  if (!(sparsity >= 0 && sparsity <= 1)) {
    throw ValueError("sparsity is {}, expected a share from 0 to 1", sparsity)
        .at(Location::of_caller());
  }
  const Tensor keys = keys_of(key, 2);
  const Tensor rank = argsort(argsort(random::uniform(keys[0], shape), 0), 0);
  const auto zeros_of_column = std::ceil(sparsity * static_cast<double>(sizes[0]));
  return where(rank < static_cast<int64_t>(zeros_of_column), 0,
               normal(keys[1], shape, 0, std, dtype));
}

Tensor constant(const Shape& shape, double value, DType dtype) { return full(shape, value, dtype); }

Tensor eye(const Shape& shape, DType dtype) {
  const Call call("nn::eye", shape);
  const auto sizes = sizes_of(shape, 2, 2, "[outputs, inputs]");
  return plait::eye(sizes[0], sizes[1], dtype);
}

Tensor dirac(const Shape& shape, int64_t groups, DType dtype) {
  const Call call("nn::dirac", shape);
  const auto sizes = sizes_of(shape, 3, 5, "[outputs, inputs, space…] of a convolution");
  if (groups < 1 || sizes[0] % groups != 0) {
    throw ValueError("{} outputs in {} groups: expected a multiple of the groups", sizes[0], groups)
        .at(Location::of_caller());
  }
  if (is_empty(sizes)) return zeros(shape, dtype);
  Tensor weight = tile(plait::eye(sizes[0] / groups, sizes[1], dtype), {groups, 1});
  std::vector<PadWidth> space;
  for (size_t i = 2; i < sizes.size(); ++i) {
    weight = expand_dims(weight, -1);
    space.push_back({.before = sizes[i] / 2, .after = sizes[i] - sizes[i] / 2 - 1});
  }
  return pad(weight, space);
}

}  // namespace plait::nn
