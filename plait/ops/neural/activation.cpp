#include "plait/ops/neural/activation.h"

#include <cmath>
#include <numbers>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/inside/blockwise.h"
#include "plait/ops/inside/random/random_functions.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

using Reals = std::span<const double>;

struct ActivationTable {
  const ir::Primitive& relu = declare(
      {.primitive = {.name = "relu",
                     .summary = "x, or 0 where that is below 0.",
                     .oracle = "numpy.maximum of x and 0",
                     .operands = ir::exactly(1),
                     .takes = kReals,
                     .elementwise = ir::Elementwise::same,
                     .numerics = {.accuracy = ir::Accuracy::exact},
                     .body = {
                         .real = [](Reals x) { return x[0] < 0 ? 0 : x[0]; },
                         .integer = [](std::span<const int64_t> x) { return x[0] < 0 ? 0 : x[0]; },
                         .natural = [](std::span<const uint64_t> x) { return x[0]; }}},
       .rules = {.partials = {Partial::of(Reads::result(), [](const RuleContext& c) {
                   return astype(greater(c.result(), 0), c.operand_types[0].dtype());
                 })}}});
};
const ActivationTable& activation_ops() {
  static const ActivationTable table;
  return table;
}

// f(x), with narrow floats computed in f32.
template <class F>
Tensor widely(const Tensor& x, const F& f) {
  const DType dtype = inexact(x.dtype());
  const bool is_narrow = is_floating(dtype) && size_of(dtype) < 4;
  return blockwise({x}, [&](std::span<const Tensor> operands) {
    return astype(f(astype(operands[0], is_narrow ? DType::f32 : dtype)), dtype);
  });
}

// f(x) for x > 0, else g(x). g is not evaluated at positive numbers, where it might overflow and
// put 0 · ∞ into the derivative.
template <class F, class G>
Tensor by_sign(const Tensor& x, const F& f, const G& g) {
  const Tensor is_above = greater(x, 0);
  return where(is_above, f(x), g(where(is_above, 0, x)));
}

Tensor unchanged(const Tensor& x) { return x; }

// low for x ≤ from, high for x ≥ to, else f(x). At both ends the derivative is that of the
// constant.
Tensor between(const Tensor& x, const Tensor& inside, double from, double low, double to,
               const Operand& high) {
  return where(less_equal(x, from), low, where(greater_equal(x, to), high, inside));
}

}  // namespace

Tensor relu(const Tensor& x) {
  const Call call("relu", x);
  return plait::apply(activation_ops().relu, {x});
}

Tensor leaky_relu(const Tensor& x, double slope) {
  const Call call("leaky_relu", x);
  expect_number("slope", slope);
  return widely(x, [&](const Tensor& y) { return where(greater(y, 0), y, y * slope); });
}

Tensor prelu(const Tensor& x, const Tensor& slope) {
  const Call call("prelu", x, slope);
  const DType dtype = inexact(promote(x.dtype(), slope.dtype()));
  Tensor factor = astype(slope, dtype);
  if (slope.rank() > 1 || (slope.rank() == 1 && !same(slope.shape(0), Dim(1)) &&
                           (x.rank() < 2 || !same(x.shape(1), slope.shape(0))))) {
    throw ShapeError("prelu: the slopes {} do not match {}; expected one, or one per channel",
                     slope.type().text(), x.type().text())
        .at(Location::of_caller());
  }
  if (slope.rank() == 1 && x.rank() >= 2) {
    Shape shape{slope.shape(0)};
    for (size_t i = 2; i < x.rank(); ++i) shape.append(1);
    factor = reshape(factor, shape);
  } else if (slope.rank() == 1) {
    factor = reshape(factor, {});
  }
  const Tensor y = astype(x, dtype);
  return where(greater(y, 0), y, y * factor);
}

Tensor rrelu(const Tensor& x, double lower, double upper, bool training, const Tensor& key) {
  const Call call("rrelu", x, key);
  if (!(lower <= upper && std::isfinite(lower) && std::isfinite(upper))) {
    throw ValueError("rrelu: the slopes are from {} to {}, expected an ascending range", lower,
                     upper)
        .at(Location::of_caller());
  }
  if (!training || lower == upper) return leaky_relu(x, (lower + upper) / 2);
  const DType dtype = inexact(x.dtype());
  const Tensor y = astype(x, computed(dtype));
  const Tensor slopes =
      random::uniform(random::key_or_next("rrelu", key), y.shape(), lower, upper, y.dtype());
  return astype(where(greater(y, 0), y, y * slopes), dtype);
}

Tensor elu(const Tensor& x, double alpha) {
  const Call call("elu", x);
  expect_number("alpha", alpha);
  return widely(x, [&](const Tensor& y) {
    return by_sign(y, unchanged, [&](const Tensor& z) { return alpha * expm1(z); });
  });
}

Tensor selu(const Tensor& x) {
  const Call call("selu", x);
  // Constants for which mean 0 and variance 1 are a fixed point.
  constexpr double kAlpha = 1.6732632423543772848, kScale = 1.0507009873554804934;
  return widely(x, [](const Tensor& y) {
    return by_sign(
        y, [](const Tensor& z) { return z * kScale; },
        [](const Tensor& z) { return kScale * kAlpha * expm1(z); });
  });
}

Tensor celu(const Tensor& x, double alpha) {
  const Call call("celu", x);
  expect_number("alpha", alpha);
  if (alpha == 0) throw ValueError("celu: alpha is 0").at(Location::of_caller());
  return widely(x, [&](const Tensor& y) {
    return by_sign(y, unchanged, [&](const Tensor& z) { return alpha * expm1(z / alpha); });
  });
}

Tensor gelu(const Tensor& x, Gelu kind) {
  const Call call("gelu", x);
  if (is_complex(x.dtype()))
    throw TypeError("gelu: expected real numbers").at(Location::of_caller());
  return widely(x, [&](const Tensor& y) {
    if (kind == Gelu::exact) return 0.5 * y * (erf(y * (1 / std::numbers::sqrt2)) + 1);
    if (kind == Gelu::fast) return y * sigmoid(1.702 * y);
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
    const Tensor z = clip(y, -20, 20);  // outside, tanh is ±1, and the cube might overflow
    return 0.5 * y * (tanh(scale * z * (square(z) * 0.044715 + 1)) + 1);
  });
}

Tensor silu(const Tensor& x) {
  const Call call("silu", x);
  return widely(x, [](const Tensor& y) { return y * sigmoid(y); });
}

Tensor softplus(const Tensor& x, double beta) {
  const Call call("softplus", x);
  expect_number("beta", beta);
  if (beta == 0) throw ValueError("softplus: beta is 0").at(Location::of_caller());
  return widely(x, [&](const Tensor& y) {
    return beta == 1 ? logaddexp(y, 0) : logaddexp(y * beta, 0) / beta;
  });
}

Tensor mish(const Tensor& x) {
  const Call call("mish", x);
  return widely(x, [](const Tensor& y) { return y * tanh(logaddexp(y, 0)); });
}

Tensor softsign(const Tensor& x) {
  const Call call("softsign", x);
  return widely(x, [](const Tensor& y) { return y / (absolute(y) + 1); });
}

Tensor logsigmoid(const Tensor& x) {
  const Call call("logsigmoid", x);
  return widely(x, [](const Tensor& y) { return -logaddexp(-y, 0); });
}

Tensor hardtanh(const Tensor& x, double low, double high) {
  const Call call("hardtanh", x);
  if (!(low <= high)) {
    throw ValueError("hardtanh: the lower end {} is not below the upper end {}", low, high)
        .at(Location::of_caller());
  }
  return widely(x, [&](const Tensor& y) { return between(y, y, low, low, high, high); });
}

Tensor relu6(const Tensor& x) {
  const Call call("relu6", x);
  return hardtanh(x, 0, 6);
}

Tensor hardsigmoid(const Tensor& x) {
  const Call call("hardsigmoid", x);
  return widely(x, [](const Tensor& y) { return between(y, (y + 3) / 6, -3, 0, 3, 1.0); });
}

Tensor hardswish(const Tensor& x) {
  const Call call("hardswish", x);
  return widely(x, [](const Tensor& y) { return between(y, y * (y + 3) / 6, -3, 0, 3, y); });
}

Tensor hardshrink(const Tensor& x, double lambda) {
  const Call call("hardshrink", x);
  expect_number("lambda", lambda);
  return widely(x, [&](const Tensor& y) { return where(less_equal(absolute(y), lambda), 0, y); });
}

Tensor softshrink(const Tensor& x, double lambda) {
  const Call call("softshrink", x);
  expect_not_negative("lambda", lambda);
  return widely(x, [&](const Tensor& y) {
    return where(less_equal(absolute(y), lambda), 0, where(greater(y, 0), y - lambda, y + lambda));
  });
}

Tensor tanhshrink(const Tensor& x) {
  const Call call("tanhshrink", x);
  return widely(x, [](const Tensor& y) { return y - tanh(y); });
}

Tensor threshold(const Tensor& x, double threshold, double otherwise) {
  const Call call("threshold", x);
  expect_number("threshold", threshold);
  return widely(x, [&](const Tensor& y) { return where(less_equal(y, threshold), otherwise, y); });
}

Tensor glu(const Tensor& x, int64_t axis) {
  const Call call("glu", x);
  const Dim size = x.shape(axis);
  if (size.is_number() && size.number() % 2 != 0) {
    throw ShapeError("glu: the size of dimension {} of {} is odd", axis, x.type().text())
        .at(Location::of_caller());
  }
  const Dim half = floor_div(size, 2);
  const Shape shape = x.shape();
  const size_t place = shape.index_of(axis);
  // The halves as a separate dimension, so that their size may be symbolic.
  Shape halves;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i == place) halves.append(2);
    halves.append(i == place ? half : shape[i]);
  }
  return widely(reshape(x, halves), [&](const Tensor& y) {
    const auto at = static_cast<int64_t>(place);
    const Tensor first = slice(y, at, {.start = 0, .stop = 1});
    const Tensor second = slice(y, at, {.start = 1, .stop = 2});
    return squeeze(first * sigmoid(second), at);
  });
}

void register_activation_ops() { activation_ops(); }

}  // namespace plait
