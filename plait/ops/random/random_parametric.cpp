// Distributions with parameters, most of them as functions of a few others. Functions of several
// random numbers are computed in f64 and rounded once.
#include <cmath>
#include <numbers>

#include "plait/core/error.h"
#include "plait/core/numbers/promotion.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/random/random_functions.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"

namespace plait::random {
namespace {

constexpr DType kWide = DType::f64;

std::string_view words_of(Known range) {
  switch (range) {
    case Known::positive: return "expected more than 0";
    case Known::not_negative: return "expected 0 or more";
    case Known::probability: return "expected a probability";
    case Known::anything: break;
  }
  return "expected a number";
}

bool is_in(Known range, double number) {
  switch (range) {
    case Known::positive: return number > 0;
    case Known::not_negative: return number >= 0;
    case Known::probability: return number >= 0 && number <= 1;
    case Known::anything: break;
  }
  return !std::isnan(number);
}

// Gamma numbers, or their logarithms.
Tensor gammas(const Tensor& key, const Tensor& a, bool log) {
  return apply(parametric_primitives().gamma, {key, a},
               ir::Attributes::of(RandomGammaAttributes{log}));
}

Tensor gamma_or_log(const char* function, const Tensor& key, const Operand& a,
                    const std::optional<Shape>& shape, std::optional<DType> dtype, bool log) {
  const Drawing drawing(function, key, {{"a", a, Known::positive}}, shape, dtype);
  return gammas(key, drawing.whole(drawing.rounded(drawing[0])), log);
}

// log(chi-square number / degrees).
Tensor log_chisquare_share(const Drawing& drawing, const Tensor& key, const Tensor& degrees) {
  return gammas(key, drawing.whole(degrees / 2), true) - log(degrees / 2);
}

Tensor standard(const Tensor& key, const Drawing& drawing) {
  return normal(key, drawing.shape, 0., 1., kWide);
}

}  // namespace

Tensor Parameter::as(std::string_view function, DType dtype) const {
  const Tensor tensor = tensor_from(given);
  const DType own = tensor.dtype();
  if (is_complex(own) || is_key(own) || (is_whole && !is_integer(own))) {
    throw TypeError("{}: {} is {}, expected {} numbers", function, name, tensor.type().text(),
                    is_whole ? "integer" : "real")
        .at(Location::of_caller());
  }
  const bool is_known = !given.is_tensor() && !given.scalar().is_symbolic();
  if (is_known && !is_in(range, number_of(given.scalar()))) {
    throw ValueError("{}: {} is {}, {}", function, name, number_of(given.scalar()), words_of(range))
        .at(Location::of_caller());
  }
  return given.is_tensor() ? given.as(dtype) : on_default_device(given.as(dtype));
}

Drawing::Drawing(std::string_view function, const Tensor& key,
                 std::initializer_list<Parameter> given, const std::optional<Shape>& shape,
                 std::optional<DType> dtype)
    : key(expect_key(function, key)) {
  for (const Parameter& each : given) parameters.push_back(each.as(function, kWide));
  const Shape common = common_shape(function, parameters);
  this->shape = shape_of_result(function, shape, common);
  if (dtype) {
    this->dtype = *dtype;
  } else {
    std::vector<DType> dtypes;
    std::vector<ScalarKind> numbers;
    for (const Parameter& each : given) {
      if (each.given.is_tensor())
        dtypes.push_back(each.given.tensor().dtype());
      else
        numbers.push_back(each.given.scalar().kind());
    }
    this->dtype = inexact(promote(dtypes, numbers));
  }
  expect_floating(function, this->dtype);
}

Shape shape_of_result(std::string_view function, const std::optional<Shape>& shape,
                      const Shape& common) {
  if (!shape) return common;
  for (const Dim size : *shape) {
    if (size.is_number() && size.number() < 0) {
      throw ShapeError("{}: a negative size in {}", function, shape->text())
          .at(Location::of_caller());
    }
  }
  if (same(common_shape(function, common, *shape), *shape)) return *shape;
  throw ShapeError("{}: parameters of {} cannot be broadcast to {}", function, common.text(),
                   shape->text())
      .at(Location::of_caller());
}

Tensor Drawing::whole(const Tensor& parameter) const {
  return broadcast_to(parameter, behind_keys(key, shape));
}

Tensor Drawing::rounded(const Tensor& x) const { return astype(x, dtype); }

Shape behind_keys(const Tensor& key, const Shape& shape) {
  Shape whole = key.shape();
  for (const Dim size : shape) whole.append(size);
  return whole;
}

Tensor counts_as(const Tensor& counts, DType dtype) {
  const IntegerLimits limits = integer_limits(dtype), all = integer_limits(DType::i64);
  if (limits.max >= all.max) return astype(counts, dtype);
  return astype(minimum(counts, static_cast<int64_t>(limits.max)), dtype);
}

// ---- From gamma numbers.

Tensor gamma(const Tensor& key, const Operand& a, const std::optional<Shape>& shape,
             std::optional<DType> dtype) {
  const Call call("gamma", key, a);
  return gamma_or_log("gamma", key, a, shape, dtype, false);
}

Tensor loggamma(const Tensor& key, const Operand& a, const std::optional<Shape>& shape,
                std::optional<DType> dtype) {
  const Call call("loggamma", key, a);
  return gamma_or_log("loggamma", key, a, shape, dtype, true);
}

Tensor beta(const Tensor& key, const Operand& a, const Operand& b,
            const std::optional<Shape>& shape, std::optional<DType> dtype) {
  const Call call("beta", key, a, b);
  const Drawing drawing("beta", key, {{"a", a, Known::positive}, {"b", b, Known::positive}}, shape,
                        dtype);
  const Tensor first = gammas(drawing.key_of(0), drawing.whole(drawing[0]), true);
  const Tensor second = gammas(drawing.key_of(1), drawing.whole(drawing[1]), true);
  return drawing.rounded(sigmoid(first - second));
}

Tensor chisquare(const Tensor& key, const Operand& degrees, const std::optional<Shape>& shape,
                 std::optional<DType> dtype) {
  const Call call("chisquare", key, degrees);
  const Drawing drawing("chisquare", key, {{"degrees", degrees, Known::positive}}, shape, dtype);
  return drawing.rounded(2 * gammas(key, drawing.whole(drawing[0] / 2), false));
}

Tensor f(const Tensor& key, const Operand& degrees_above, const Operand& degrees_below,
         const std::optional<Shape>& shape, std::optional<DType> dtype) {
  const Call call("f", key, degrees_above, degrees_below);
  const Drawing drawing("f", key,
                        {{"degrees_above", degrees_above, Known::positive},
                         {"degrees_below", degrees_below, Known::positive}},
                        shape, dtype);
  const Tensor above = log_chisquare_share(drawing, drawing.key_of(0), drawing[0]);
  const Tensor below = log_chisquare_share(drawing, drawing.key_of(1), drawing[1]);
  return drawing.rounded(exp(above - below));
}

Tensor student_t(const Tensor& key, const Operand& degrees, const std::optional<Shape>& shape,
                 std::optional<DType> dtype) {
  const Call call("student_t", key, degrees);
  const Drawing drawing("student_t", key, {{"degrees", degrees, Known::positive}}, shape, dtype);
  const Tensor below = log_chisquare_share(drawing, drawing.key_of(0), drawing[0]);
  return drawing.rounded(standard(drawing.key_of(1), drawing) * exp(below * -0.5));
}

Tensor generalized_normal(const Tensor& key, const Operand& p, const std::optional<Shape>& shape,
                          std::optional<DType> dtype) {
  const Call call("generalized_normal", key, p);
  const Drawing drawing("generalized_normal", key, {{"p", p, Known::positive}}, shape, dtype);
  const Tensor size = gammas(drawing.key_of(0), drawing.whole(1 / drawing[0]), true);
  return drawing.rounded(rademacher(drawing.key_of(1), drawing.shape, kWide) *
                         exp(size / drawing[0]));
}

Tensor maxwell(const Tensor& key, const Shape& shape, DType dtype) {
  const Call call("maxwell", key, shape);
  const Drawing drawing("maxwell", key, {}, shape, dtype);
  const Tensor a = drawing.whole(on_default_device(scalar_tensor(1.5, kWide)));
  return drawing.rounded(sqrt(2 * gammas(key, a, false)));
}

Tensor double_sided_maxwell(const Tensor& key, const Operand& location, const Operand& scale,
                            const std::optional<Shape>& shape, std::optional<DType> dtype) {
  const Call call("double_sided_maxwell", key, location, scale);
  const Drawing drawing("double_sided_maxwell", key,
                        {{"location", location}, {"scale", scale, Known::not_negative}}, shape,
                        dtype);
  const Tensor sign = rademacher(drawing.key_of(0), drawing.shape, kWide);
  return drawing.rounded(sign * maxwell(drawing.key_of(1), drawing.shape, kWide) * drawing[1] +
                         drawing[0]);
}

// ---- From uniform, normal and exponential numbers.

Tensor cauchy(const Tensor& key, const Shape& shape, DType dtype) {
  const Call call("cauchy", key, shape);
  const Drawing drawing("cauchy", key, {}, shape, dtype);
  return drawing.rounded(tan(std::numbers::pi * (uniform(key, shape, 0, 1, kWide) - 0.5)));
}

// For x exponential, u = e^-x is uniform: log(u / (1 - u)).
Tensor logistic(const Tensor& key, const Shape& shape, DType dtype) {
  const Call call("logistic", key, shape);
  const Drawing drawing("logistic", key, {}, shape, dtype);
  return drawing.rounded(-log(expm1(exponential(key, shape, kWide))));
}

Tensor lognormal(const Tensor& key, const Operand& mean, const Operand& deviation,
                 const std::optional<Shape>& shape, std::optional<DType> dtype) {
  const Call call("lognormal", key, mean, deviation);
  const Drawing drawing("lognormal", key,
                        {{"mean", mean}, {"deviation", deviation, Known::not_negative}}, shape,
                        dtype);
  return drawing.rounded(exp(standard(key, drawing) * drawing[1] + drawing[0]));
}

Tensor rayleigh(const Tensor& key, const Operand& scale, const std::optional<Shape>& shape,
                std::optional<DType> dtype) {
  const Call call("rayleigh", key, scale);
  const Drawing drawing("rayleigh", key, {{"scale", scale, Known::not_negative}}, shape, dtype);
  return drawing.rounded(sqrt(2 * exponential(key, drawing.shape, kWide)) * drawing[0]);
}

Tensor weibull(const Tensor& key, const Operand& scale, const Operand& concentration,
               const std::optional<Shape>& shape, std::optional<DType> dtype) {
  const Call call("weibull", key, scale, concentration);
  const Drawing drawing(
      "weibull", key,
      {{"scale", scale, Known::not_negative}, {"concentration", concentration, Known::positive}},
      shape, dtype);
  const Tensor x = exponential(key, drawing.shape, kWide);
  return drawing.rounded(power(x, 1 / drawing[1]) * drawing[0]);
}

Tensor pareto(const Tensor& key, const Operand& b, const std::optional<Shape>& shape,
              std::optional<DType> dtype) {
  const Call call("pareto", key, b);
  const Drawing drawing("pareto", key, {{"b", b, Known::positive}}, shape, dtype);
  return drawing.rounded(exp(exponential(key, drawing.shape, kWide) / drawing[0]));
}

// The inverse of the distribution function, which is a parabola on each side of the mode.
Tensor triangular(const Tensor& key, const Operand& low, const Operand& mode, const Operand& high,
                  const std::optional<Shape>& shape, std::optional<DType> dtype) {
  const Call call("triangular", key, low, mode, high);
  const Drawing drawing("triangular", key, {{"low", low}, {"mode", mode}, {"high", high}}, shape,
                        dtype);
  const Tensor &a = drawing[0], &c = drawing[1], &b = drawing[2];
  const Tensor u = uniform(key, drawing.shape, 0, 1, kWide), width = b - a;
  const Tensor is_below = u * width < c - a;
  // The root that is not selected is not taken at 0, where its derivative is infinite.
  const Tensor below = sqrt(where(is_below, u * width * (c - a), 1));
  const Tensor above = sqrt(where(is_below, 1, (1 - u) * width * (b - c)));
  return drawing.rounded(where(is_below, a + below, b - above));
}

// Michael, Schucany and Haas's method ("Generating random variates using transformations with
// multiple roots", 1976): two numbers correspond to the square of a normal one; selects the one
// below the mean or the one above it with the appropriate probability.
Tensor wald(const Tensor& key, const Operand& mean, const Operand& scale,
            const std::optional<Shape>& shape, std::optional<DType> dtype) {
  const Call call("wald", key, mean, scale);
  const Drawing drawing("wald", key,
                        {{"mean", mean, Known::positive}, {"scale", scale, Known::positive}}, shape,
                        dtype);
  const Tensor m = stop_gradient(drawing[0] / drawing[1]);
  const Tensor y = m * square(standard(drawing.key_of(0), drawing));
  const Tensor below = 2 * m / (2 + y + sqrt(y * (4 + y)));
  const Tensor u = uniform(drawing.key_of(1), drawing.shape, 0, 1, kWide);
  const Tensor x = where(u * (m + below) < m, below, m * (m / below));
  return drawing.rounded(x * stop_gradient(drawing[1]));
}

Tensor rademacher(const Tensor& key, const Shape& shape, DType dtype) {
  const Call call("rademacher", key, shape);
  expect_key("rademacher", key);
  if (!is_floating(dtype) && !(is_integer(dtype) && is_signed(dtype))) {
    throw TypeError("rademacher: returns signed numbers, not {}", name_of(dtype))
        .at(Location::of_caller());
  }
  return astype(bits(key, shape, DType::u8) & 1, dtype) * 2 - 1;
}

// ---- Counts.

Tensor poisson(const Tensor& key, const Operand& rate, const std::optional<Shape>& shape,
               DType dtype) {
  const Call call("poisson", key, rate);
  expect_integer("poisson", dtype);
  const Drawing drawing("poisson", key, {{"rate", rate, Known::not_negative}}, shape);
  return counts_as(apply(parametric_primitives().poisson, {key, drawing.whole(drawing[0])}), dtype);
}

Tensor binomial(const Tensor& key, const Operand& count, const Operand& p,
                const std::optional<Shape>& shape, DType dtype) {
  const Call call("binomial", key, count, p);
  expect_integer("binomial", dtype);
  const Parameter whole{"count", count, Known::not_negative, true};
  const Drawing drawing("binomial", key, {whole, {"p", p, Known::probability}}, shape);
  const Tensor trials = drawing.whole(whole.as("binomial", DType::i64));
  return counts_as(
      apply(parametric_primitives().binomial, {key, trials, drawing.whole(drawing[1])}), dtype);
}

// A Poisson number whose rate is a gamma number.
Tensor negative_binomial(const Tensor& key, const Operand& count, const Operand& p,
                         const std::optional<Shape>& shape, DType dtype) {
  const Call call("negative_binomial", key, count, p);
  expect_integer("negative_binomial", dtype);
  const Drawing drawing("negative_binomial", key,
                        {{"count", count, Known::positive}, {"p", p, Known::probability}}, shape);
  const Tensor& success = drawing[1];
  const Tensor rate =
      gammas(drawing.key_of(0), drawing.whole(drawing[0]), false) * ((1 - success) / success);
  return counts_as(apply(parametric_primitives().poisson, {drawing.key_of(1), rate}), dtype);
}

// The integer part of an exponential number, plus 1, is a geometric number.
Tensor geometric(const Tensor& key, const Operand& p, const std::optional<Shape>& shape,
                 DType dtype) {
  const Call call("geometric", key, p);
  expect_integer("geometric", dtype);
  const Drawing drawing("geometric", key, {{"p", p, Known::probability}}, shape);
  if (p.is_tensor()) {
    check(all(logical_and(greater_equal(drawing[0], 0), less_equal(drawing[0], 1))),
          "geometric: p is not a probability");
  }
  const Tensor trials = ceil(exponential(key, drawing.shape, kWide) / -log1p(-drawing[0]));
  // The greatest f64 that fits.
  return counts_as(astype(clip(trials, 1, 0x1.fffffffffffffp62), DType::i64), dtype);
}

Tensor multinomial(const Tensor& key, const Operand& count, const Tensor& weights,
                   const std::optional<Shape>& shape, DType dtype) {
  const Call call("multinomial", key, count, weights);
  expect_integer("multinomial", dtype);
  expect_key("multinomial", key);
  if (weights.rank() == 0) {
    throw ShapeError("multinomial: expected weights along an axis, not a scalar {}",
                     weights.type().text())
        .at(Location::of_caller());
  }
  const Tensor trials =
      Parameter{"count", count, Known::not_negative, true}.as("multinomial", DType::i64);
  const Tensor shares = Parameter{"weights", weights}.as("multinomial", kWide);
  const Shape rows(shares.shape().dims().first(shares.rank() - 1));
  const Shape common = common_shape("multinomial", trials.shape(), rows);
  Shape whole = behind_keys(key, shape_of_result("multinomial", shape, common));
  const Tensor all_trials = broadcast_to(trials, whole);
  whole.append(shares.shape(-1));
  return counts_as(
      apply(parametric_primitives().multinomial, {key, all_trials, broadcast_to(shares, whole)}),
      dtype);
}

// ---- From the default stream.

Tensor gamma(const Operand& a, const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return gamma(key, a, shape, dtype); });
}
Tensor loggamma(const Operand& a, const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return loggamma(key, a, shape, dtype); });
}
Tensor beta(const Operand& a, const Operand& b, const std::optional<Shape>& shape,
            std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return beta(key, a, b, shape, dtype); });
}
Tensor chisquare(const Operand& degrees, const std::optional<Shape>& shape,
                 std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return chisquare(key, degrees, shape, dtype); });
}
Tensor f(const Operand& degrees_above, const Operand& degrees_below,
         const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return from_stream(
      [&](const Tensor& key) { return f(key, degrees_above, degrees_below, shape, dtype); });
}
Tensor student_t(const Operand& degrees, const std::optional<Shape>& shape,
                 std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return student_t(key, degrees, shape, dtype); });
}
Tensor generalized_normal(const Operand& p, const std::optional<Shape>& shape,
                          std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return generalized_normal(key, p, shape, dtype); });
}
Tensor cauchy(const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return cauchy(key, shape, dtype); });
}
Tensor logistic(const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return logistic(key, shape, dtype); });
}
Tensor maxwell(const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return maxwell(key, shape, dtype); });
}
Tensor double_sided_maxwell(const Operand& location, const Operand& scale,
                            const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return from_stream(
      [&](const Tensor& key) { return double_sided_maxwell(key, location, scale, shape, dtype); });
}
Tensor lognormal(const Operand& mean, const Operand& deviation, const std::optional<Shape>& shape,
                 std::optional<DType> dtype) {
  return from_stream(
      [&](const Tensor& key) { return lognormal(key, mean, deviation, shape, dtype); });
}
Tensor rayleigh(const Operand& scale, const std::optional<Shape>& shape,
                std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return rayleigh(key, scale, shape, dtype); });
}
Tensor weibull(const Operand& scale, const Operand& concentration,
               const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return from_stream(
      [&](const Tensor& key) { return weibull(key, scale, concentration, shape, dtype); });
}
Tensor pareto(const Operand& b, const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return pareto(key, b, shape, dtype); });
}
Tensor triangular(const Operand& low, const Operand& mode, const Operand& high,
                  const std::optional<Shape>& shape, std::optional<DType> dtype) {
  return from_stream(
      [&](const Tensor& key) { return triangular(key, low, mode, high, shape, dtype); });
}
Tensor wald(const Operand& mean, const Operand& scale, const std::optional<Shape>& shape,
            std::optional<DType> dtype) {
  return from_stream([&](const Tensor& key) { return wald(key, mean, scale, shape, dtype); });
}
Tensor rademacher(const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return rademacher(key, shape, dtype); });
}
Tensor poisson(const Operand& rate, const std::optional<Shape>& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return poisson(key, rate, shape, dtype); });
}
Tensor binomial(const Operand& count, const Operand& p, const std::optional<Shape>& shape,
                DType dtype) {
  return from_stream([&](const Tensor& key) { return binomial(key, count, p, shape, dtype); });
}
Tensor negative_binomial(const Operand& count, const Operand& p, const std::optional<Shape>& shape,
                         DType dtype) {
  return from_stream(
      [&](const Tensor& key) { return negative_binomial(key, count, p, shape, dtype); });
}
Tensor geometric(const Operand& p, const std::optional<Shape>& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return geometric(key, p, shape, dtype); });
}
Tensor multinomial(const Operand& count, const Tensor& weights, const std::optional<Shape>& shape,
                   DType dtype) {
  return from_stream(
      [&](const Tensor& key) { return multinomial(key, count, weights, shape, dtype); });
}

}  // namespace plait::random
