#include "plait/ops/neural/normalization.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/neural/window.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/products/products.h"

namespace plait {
namespace {

// Computations are in f32, or in f64 for f64.
void refuse_complex(std::string_view function, const Tensor& x) {
  if (!is_complex(x.dtype())) return;
  throw TypeError("{}: x is {}, expected real numbers", function, x.type().text())
      .at(Location::of_caller());
}

// Merges the last dimensions, which are normalised together.
Tensor rows_of(std::string_view function, const Tensor& x, const Shape& last) {
  refuse_complex(function, x);
  const Shape whole = x.shape();
  const bool fits = last.rank() >= 1 && last.rank() <= whole.rank() &&
                    same(Shape(whole.dims().last(last.rank())), last);
  if (!fits) {
    throw ShapeError("{}: {} does not end in {}", function, x.type().text(), last.text())
        .at(Location::of_caller());
  }
  Shape rows(whole.dims().first(whole.rank() - last.rank()));
  rows.append(last.element_count());
  return reshape(astype(x, computed(x.dtype())), rows);
}

void expect_shape(std::string_view function, std::string_view what, const Tensor& given,
                  const Shape& shape) {
  if (!given) return;
  if (!kReals.contains(given.dtype())) {
    throw TypeError("{}: the {} is {}, expected real numbers", function, what, given.type().text())
        .at(Location::of_caller());
  }
  if (same(given.shape(), shape)) return;
  throw ShapeError("{}: the {} is {}, not {}", function, what, given.type().text(), shape.text())
      .at(Location::of_caller());
}

// x · weight + bias in the dtype of x.
Tensor scaled(Tensor x, const Tensor& weight, const Tensor& bias) {
  if (weight) x = x * astype(weight, x.dtype());
  if (bias) x = x + astype(bias, x.dtype());
  return x;
}

Tensor normed_rows(std::string_view function, const Tensor& x, const Shape& shape,
                   const Tensor& weight, const Tensor& bias, double eps, bool is_centred) {
  expect_shape(function, "weight", weight, shape);
  expect_shape(function, "bias", bias, shape);
  const Tensor rows = standardize(rows_of(function, x, shape), eps, is_centred).values;
  return astype(scaled(reshape(rows, x.shape()), weight, bias), inexact(x.dtype()));
}

double epsilon_of(DType dtype) {
  return std::ldexp(1, -info_of(is_floating(dtype) ? dtype : DType::f32).format.mantissa_bits);
}

// One number per channel, shaped to broadcast with [batch, channels, space…].
Tensor by_channel(const Tensor& numbers, size_t rank) {
  if (!numbers) return numbers;
  Shape shape{numbers.shape(0)};
  for (size_t i = 2; i < rank; ++i) shape.append(1);
  return reshape(numbers, shape);
}

void expect_channels(std::string_view function, const Tensor& x) {
  refuse_complex(function, x);
  if (x.rank() >= 2) return;
  throw ShapeError("{}: {} has no dimensions for batch and channels", function, x.type().text())
      .at(Location::of_caller());
}

Tensor grouped(std::string_view function, const Tensor& x, Dim groups, const Tensor& weight,
               const Tensor& bias, double eps) {
  const Shape channels{x.shape(1)};
  expect_shape(function, "weight", weight, channels);
  expect_shape(function, "bias", bias, channels);
  Dim size = floor_div(x.shape(1), groups);
  for (size_t i = 2; i < x.rank(); ++i) size = size * x.shape(static_cast<int64_t>(i));
  const Tensor rows = reshape(astype(x, computed(x.dtype())), {x.shape(0), groups, size});
  const Tensor normed = reshape(standardize(rows, eps).values, x.shape());
  return astype(scaled(normed, by_channel(weight, x.rank()), by_channel(bias, x.rank())),
                inexact(x.dtype()));
}

// Number of elements per channel.
Dim count_of(const Tensor& x) {
  Dim count = x.shape(0);
  for (size_t i = 2; i < x.rank(); ++i) count = count * x.shape(static_cast<int64_t>(i));
  return count;
}

Tensor moved_on(const Tensor& running, const Tensor& batch, double momentum) {
  if (!running) return running;
  const Tensor now = stop_gradient(reshape(batch, running.shape()));
  return astype(running * (1 - momentum) + now * momentum, running.dtype());
}

void check_batch_norm(const Tensor& x, const BatchNormOptions& options) {
  expect_channels("batch_norm", x);
  expect_not_negative("eps", options.eps);
  if (!(options.momentum >= 0 && options.momentum <= 1)) {
    throw ValueError("batch_norm: the momentum is {}, expected 0 to 1", options.momentum)
        .at(Location::of_caller());
  }
  const Shape channels{x.shape(1)};
  expect_shape("batch_norm", "weight", options.weight, channels);
  expect_shape("batch_norm", "bias", options.bias, channels);
  expect_shape("batch_norm", "running mean", options.running_mean, channels);
  expect_shape("batch_norm", "running variance", options.running_var, channels);
  if (!options.training && (!options.running_mean || !options.running_var)) {
    throw ValueError("batch_norm: inference needs a running mean and variance")
        .at(Location::of_caller());
  }
  if (options.training && !sizes_hold({count_of(x), SizeFact::not_equal, 1})) {
    throw ValueError(
        "batch_norm: {} has one element per channel, which has no variance in training",
        x.type().text())
        .at(Location::of_caller());
  }
}

Tensor norm_of(const Tensor& x, double p, const Axes& axes, double least) {
  if (p == 2) {
    const Tensor squares = sum_of_squares(x, axes, true);
    // The clamped value is a constant, and its root has a finite derivative.
    return sqrt(where(greater(squares, least * least), squares, least * least));
  }
  const Tensor sizes = absolute(x);
  if (std::isinf(p)) {
    const Tensor norm = p > 0 ? max(sizes, axes, true) : min(sizes, axes, true);
    return where(greater(norm, least), norm, least);
  }
  if (p == 1) {
    const Tensor norm = sum(sizes, axes, true);
    return where(greater(norm, least), norm, least);
  }
  const Tensor is_zero = equal(sizes, 0);
  const Tensor powers = where(is_zero, p > 0 ? 0.0 : INFINITY, power(where(is_zero, 1, sizes), p));
  const Tensor total = sum(powers, axes, true);
  const double bound = std::pow(least, p);
  const Tensor is_large = p > 0 ? greater(total, bound) : less(total, bound);
  return power(where(is_large, total, bound), 1 / p);
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& w, const Tensor& bias) {
  const Call call("linear", x, w, bias);
  if (w.rank() != 2 || x.rank() == 0 ||
      (x.shape(-1).is_number() && w.shape(1).is_number() && !same(x.shape(-1), w.shape(1)))) {
    throw ShapeError("linear: {} does not match the weights {}", x.type().text(), w.type().text())
        .at(Location::of_caller())
        .hint("x is [..., inputs], the weights [outputs, inputs]");
  }
  const Tensor product = matmul(x, matrix_transpose(w));
  if (!bias) return product;
  return product + broadcast_to_shape("bias", bias, product.shape());
}

Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias) {
  const Call call("bilinear", a, b, weight, bias);
  const bool fits = a.rank() >= 1 && b.rank() == a.rank() && weight.rank() == 3 &&
                    !differ(a.shape(-1), weight.shape(1)) && !differ(b.shape(-1), weight.shape(2));
  if (!fits) {
    throw ShapeError("bilinear: {} and {} do not match the weights {}", a.type().text(),
                     b.type().text(), weight.type().text())
        .at(Location::of_caller())
        .hint("the operands are [..., i] and [..., j], the weights [outputs, i, j]");
  }
  const Tensor product = einsum("...i,oij,...j->...o", {a, weight, b});
  if (!bias) return product;
  return product + broadcast_to_shape("bias", bias, product.shape());
}

Tensor normalize(const Tensor& x, double p, const Axes& axes, double eps) {
  const Call call("normalize", x);
  expect_not_negative("eps", eps);
  if (std::isnan(p) || p == 0) {
    throw ValueError("normalize: p is {}, which defines no norm", p).at(Location::of_caller());
  }
  const DType dtype = inexact(x.dtype());
  const Tensor numbers = is_complex(dtype) ? x : astype(x, computed(dtype));
  return astype(numbers / norm_of(numbers, p, axes, eps), dtype);
}

Tensor layer_norm(const Tensor& x, const Shape& shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const Call call("layer_norm", x, shape, weight, bias);
  return normed_rows("layer_norm", x, shape, weight, bias, eps, true);
}

Tensor rms_norm(const Tensor& x, const Shape& shape, const Tensor& weight,
                std::optional<double> eps) {
  const Call call("rms_norm", x, shape, weight);
  return normed_rows("rms_norm", x, shape, weight, {}, eps.value_or(epsilon_of(x.dtype())), false);
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const Call call("group_norm", x, weight, bias);
  expect_channels("group_norm", x);
  const Dim channels = x.shape(1);
  if (groups < 1 || (channels.is_number() && channels.number() % groups != 0)) {
    throw ValueError("group_norm: {} channels cannot be divided into {} groups", channels, groups)
        .at(Location::of_caller());
  }
  return grouped("group_norm", x, groups, weight, bias, eps);
}

Tensor local_response_norm(const Tensor& x, int64_t size, double alpha, double beta, double k) {
  const Call call("local_response_norm", x);
  expect_channels("local_response_norm", x);
  if (x.rank() < 3) {
    throw ShapeError("local_response_norm: {} has no spatial dimensions", x.type().text())
        .at(Location::of_caller());
  }
  if (size < 1) {
    throw ValueError("local_response_norm: a size of {}, expected 1 or more", size)
        .at(Location::of_caller());
  }
  expect_number("alpha", alpha);
  expect_number("beta", beta);
  expect_number("k", k);
  const Dim channels = x.shape(1);
  Dim space = 1;
  for (size_t i = 2; i < x.rank(); ++i) space = space * x.shape(static_cast<int64_t>(i));
  const Tensor numbers = astype(x, computed(inexact(x.dtype())));
  const Tensor sums = window_sum(reshape(square(numbers), {x.shape(0), channels, space}),
                                 {.counts = {channels, space},
                                  .window = {size, 1},
                                  .strides = {1, 1},
                                  .dilation = {1, 1},
                                  .padding = {size / 2, 0}});
  const Tensor divisor =
      power(reshape(sums, x.shape()) * (alpha / static_cast<double>(size)) + k, beta);
  return astype(numbers / divisor, inexact(x.dtype()));
}

Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Call call("instance_norm", x, weight, bias);
  expect_channels("instance_norm", x);
  if (x.rank() < 3) {
    throw ShapeError("instance_norm: {} has no spatial dimensions", x.type().text())
        .at(Location::of_caller());
  }
  return grouped("instance_norm", x, x.shape(1), weight, bias, eps);
}

BatchNormed batch_norm(const Tensor& x, const BatchNormOptions& options) {
  const Call call("batch_norm", x);
  check_batch_norm(x, options);
  const Tensor numbers = astype(x, computed(x.dtype()));
  const size_t rank = x.rank();
  BatchNormed result{.running_mean = options.running_mean, .running_var = options.running_var};
  Tensor centred, variance;                                       // per channel
  if (options.training && x.shape().element_count() == Dim(0)) {  // without statistics
    centred = numbers;
    variance = by_channel(zeros({x.shape(1)}, numbers.dtype()), rank);
  } else if (options.training) {
    std::vector<int64_t> axes{0};
    for (size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
    const Dim count = count_of(x);
    const Tensor middle = mean(numbers, axes, true);
    centred = numbers - middle;
    const Tensor squares = sum_of_squares(centred, axes, true);
    variance = squares / count;
    result.running_mean = moved_on(options.running_mean, middle, options.momentum);
    // Unbiased: divides by count − 1.
    result.running_var = moved_on(options.running_var, squares / (count - 1), options.momentum);
  } else {
    const auto of = [&](const Tensor& running) {
      return by_channel(astype(running, numbers.dtype()), rank);
    };
    centred = numbers - of(options.running_mean);
    variance = of(options.running_var);
  }
  Tensor scale = rsqrt(variance + options.eps);
  if (options.weight) scale = scale * by_channel(astype(options.weight, scale.dtype()), rank);
  const Tensor normed = centred * scale;
  result.values = astype(scaled(normed, {}, by_channel(options.bias, rank)), inexact(x.dtype()));
  return result;
}

}  // namespace plait
