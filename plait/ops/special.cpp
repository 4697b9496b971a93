#include "plait/ops/special.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "plait/core/special_functions.h"
#include "plait/ops/call.h"
#include "plait/ops/complex.h"
#include "plait/ops/create.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

using Reals = std::span<const double>;
using Integers = std::span<const int64_t>;
using Naturals = std::span<const uint64_t>;
using Complexes = std::span<const std::complex<double>>;
using Number = std::complex<double>;
using Context = RuleContext;

struct Function {
  const char* name;
  const char* summary;
  const char* oracle;
  DTypeSet takes;
  ir::ScalarBody body;
  Rules rules;
  ir::Elementwise result = ir::Elementwise::same;
};

const ir::Primitive& function(uint32_t operands, Function declared) {
  return declare({.primitive = {.name = declared.name,
                                .summary = declared.summary,
                                .oracle = declared.oracle,
                                .operands = ir::exactly(operands),
                                .takes = declared.takes,
                                .elementwise = declared.result,
                                .body = declared.body},
                  .rules = std::move(declared.rules)});
}

Rules partials(Partial first) { return {.partials = {first}}; }
Rules partials(Partial first, Partial second) { return {.partials = {first, second}}; }

double log_add_exp(Reals x) {
  if (x[0] == x[1]) return x[0] + std::numbers::ln2;
  return std::max(x[0], x[1]) + std::log1p(std::exp(-std::abs(x[0] - x[1])));
}

// e^a / (e^a + e^b), also where both are the same infinity.
Tensor share_of(const Tensor& a, const Tensor& b) {
  const Tensor is_same = isinf(a) & equal(a, b);
  return sigmoid(where(is_same, 0, a) - where(is_same, 0, b));
}

struct SpecialTable {
  const ir::Primitive& erfc =
      function(1, {"erfc",
                   "1 − erf x, accurate where that is small.",
                   "scipy.special.erfc",
                   kFloatings,
                   {.real = [](Reals x) { return std::erfc(x[0]); }},
                   partials(Partial::of(kFirst, [](const Context& c) {
                     return -2 * std::numbers::inv_sqrtpi * plait::exp(-square(c.operand(0)));
                   }))});
  const ir::Primitive& erfinv =
      function(1, {"erfinv",
                   "The number whose erf is x; NaN beyond −1 and 1.",
                   "scipy.special.erfinv",
                   kFloatings,
                   {.real = [](Reals x) { return special::erf_inverse(x[0]); }},
                   partials(Partial::of(kResult, [](const Context& c) {
                     return 0.5 / std::numbers::inv_sqrtpi * plait::exp(square(c.result()));
                   }))});
  const ir::Primitive& lgamma =
      function(1, {"lgamma",
                   "The logarithm of the magnitude of Γ(x).",
                   "scipy.special.gammaln",
                   kFloatings,
                   {.real = [](Reals x) { return special::log_gamma(x[0]); }},
                   partials(Partial::of(
                       kFirst, [](const Context& c) { return plait::digamma(c.operand(0)); }))});
  const ir::Primitive& digamma = function(
      1, {"digamma",
          "The derivative of lgamma.",
          "scipy.special.digamma",
          kFloatings,
          {.real = [](Reals x) { return special::digamma(x[0]); }},
          partials(Partial::of(
              kFirst, [](const Context& c) { return plait::polygamma(1, c.operand(0)); }))});
  const ir::Primitive& polygamma =
      function(2, {"polygamma",
                   "The n-th derivative of digamma at x; operands n, a whole number, and x.",
                   "scipy.special.polygamma",
                   kFloatings,
                   {.real = [](Reals x) { return special::polygamma(x[0], x[1]); }},
                   partials(Partial::zero(), Partial::of(kFirst | kSecond, [](const Context& c) {
                              return plait::polygamma(c.operand(0) + 1, c.operand(1));
                            }))});
  const ir::Primitive& logaddexp = function(
      2,
      {"logaddexp",
       "log(e^a + e^b), without overflow on the way.",
       "numpy.logaddexp",
       kFloatings,
       {.real = log_add_exp},
       partials(Partial::of(kFirst | kSecond,
                            [](const Context& c) { return share_of(c.operand(0), c.operand(1)); }),
                Partial::of(kFirst | kSecond, [](const Context& c) {
                  return share_of(c.operand(1), c.operand(0));
                }))});
  const ir::Primitive& fmod = function(
      2, {"fmod",
          "What a / b leaves when rounded towards 0: has the sign of a; integers by 0 give 0.",
          "numpy.fmod",
          kReals,
          {.real = [](Reals x) { return std::fmod(x[0], x[1]); },
           .integer = [](Integers x) { return x[1] == 0 || x[1] == -1 ? 0 : x[0] % x[1]; },
           .natural = [](Naturals x) { return x[1] == 0 ? 0 : x[0] % x[1]; }},
          partials(Partial::one(), Partial::of(kFirst | kSecond, [](const Context& c) {
                     return -trunc(c.operand(0) / c.operand(1));
                   }))});
  const ir::Primitive& nextafter =
      function(2, {"nextafter",
                   "The next number of the dtype from x towards y.",
                   "numpy.nextafter",
                   kFloatings,
                   {.real = [](Reals x) { return std::nextafter(x[0], x[1]); }},
                   {.not_differentiable = "is a step from one number to the next"}});
};
const SpecialTable& special_ops() {
  static const SpecialTable table;
  return table;
}

Tensor inexactly(const ir::Primitive& primitive, const Operand& x) {
  const Tensor tensor = tensor_from(x);
  return plait::apply(primitive, {astype(tensor, inexact(tensor.dtype()))});
}

Tensor of_two(const ir::Primitive& primitive, const Operand& a, const Operand& b, DType dtype) {
  return plait::apply(primitive, broadcast_together(primitive.name, {a.as(dtype), b.as(dtype)}));
}

Tensor inexactly(const ir::Primitive& primitive, const Operand& a, const Operand& b) {
  return of_two(primitive, a, b, inexact(common_dtype(a, b)));
}

// The dtype of a computation with numbers that may be anything.
DType wide(DType dtype) { return is_inexact(dtype) ? dtype : DType::f64; }

double greatest_of(DType dtype) {
  const FloatFormat format = info_of(dtype).format;
  // Without an infinity only the mantissa of all ones is taken, by NaN, in the last binade.
  const int exponent = (1 << format.exponent_bits) - 1 - format.bias() - format.has_infinity;
  const double ones = format.has_infinity ? 1 : 2;
  return std::ldexp(2 - ones * std::ldexp(1, -format.mantissa_bits), exponent);
}

}  // namespace

Tensor erfc(const Operand& x) {
  const Call call("erfc", x);
  return inexactly(special_ops().erfc, x);
}
Tensor erfinv(const Operand& x) {
  const Call call("erfinv", x);
  return inexactly(special_ops().erfinv, x);
}
Tensor lgamma(const Operand& x) {
  const Call call("lgamma", x);
  return inexactly(special_ops().lgamma, x);
}
Tensor digamma(const Operand& x) {
  const Call call("digamma", x);
  return inexactly(special_ops().digamma, x);
}
Tensor polygamma(const Operand& n, const Operand& x) {
  const Call call("polygamma", n, x);
  return inexactly(special_ops().polygamma, n, x);
}
Tensor logaddexp(const Operand& a, const Operand& b) {
  const Call call("logaddexp", a, b);
  return inexactly(special_ops().logaddexp, a, b);
}
Tensor fmod(const Operand& a, const Operand& b) {
  const Call call("fmod", a, b);
  return of_two(special_ops().fmod, a, b, common_dtype(a, b));
}
Tensor nextafter(const Operand& x, const Operand& y) {
  const Call call("nextafter", x, y);
  return inexactly(special_ops().nextafter, x, y);
}

Tensor xlogy(const Operand& x, const Operand& y) {
  const Call call("xlogy", x, y);
  const DType dtype = inexact(common_dtype(x, y));
  const Tensor factor = x.as(dtype), number = y.as(dtype);
  // Where the product or its derivatives would be 0 · ∞.
  const Tensor is_limit =
      equal(factor, 0) &
      (less_equal(number, 0) | equal(number, std::numeric_limits<double>::infinity()));
  return where(is_limit, 0, factor * log(where(is_limit, 1, number)));
}

Tensor frac(const Operand& x) {
  const Call call("frac", x);
  const Tensor tensor = tensor_from(x);
  return is_inexact(tensor.dtype()) ? tensor - trunc(tensor) : zeros_like(tensor);
}

Tensor signbit(const Operand& x) {
  const Call call("signbit", x);
  const Tensor tensor = tensor_from(x);
  return less(is_inexact(tensor.dtype()) ? copysign(1.0, tensor) : tensor, 0);
}

Tensor nan_to_num(const Tensor& x, const NanReplacements& replacements) {
  const Call call("nan_to_num", x);
  if (is_integer(x.dtype()) || is_boolean(x.dtype())) return x;
  if (is_complex(x.dtype())) {
    const std::complex<double> i(0, 1);
    return nan_to_num(real(x), replacements) + nan_to_num(imag(x), replacements) * i;
  }
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Tensor whole = where(isnan(x), replacements.nan, x);  // refuses a key
  const double greatest = greatest_of(x.dtype());
  const Tensor below =
      where(equal(x, kInfinity), replacements.positive_infinity.value_or(greatest), whole);
  return where(equal(x, -kInfinity), replacements.negative_infinity.value_or(-greatest), below);
}

Tensor lerp(const Operand& start, const Operand& end, const Operand& weight) {
  const Call call("lerp", start, end, weight);
  const DType dtype = inexact(common_dtype({&start, &end, &weight}));
  const Tensor a = start.as(dtype), b = end.as(dtype), w = weight.as(dtype);
  const Tensor distance = b - a;
  return where(less(absolute(w), 0.5), a + w * distance, b - distance * (1 - w));
}

Tensor addcmul(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale) {
  const Call call("addcmul", x, a, b);
  return tensor_from(x) + multiply(a, b) * scale;
}
Tensor addcdiv(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale) {
  const Call call("addcdiv", x, a, b);
  return tensor_from(x) + divide(a, b) * scale;
}

Tensor isclose(const Operand& a, const Operand& b, const Closeness& closeness) {
  const Call call("isclose", a, b);
  expect_not_negative("relative tolerance", closeness.relative);
  expect_not_negative("absolute tolerance", closeness.absolute);
  const DType dtype = wide(common_dtype(a, b));
  const Tensor x = a.as(dtype), y = b.as(dtype);
  const Tensor limit = absolute(y) * closeness.relative + closeness.absolute;
  const Tensor near = less_equal(absolute(x - y), limit) & isfinite(x) & isfinite(y);
  const Tensor close = near | equal(x, y);
  return closeness.equal_nan ? close | (isnan(x) & isnan(y)) : close;
}

Tensor allclose(const Operand& a, const Operand& b, const Closeness& closeness) {
  const Call call("allclose", a, b);
  return all(isclose(a, b, closeness));
}

Tensor array_equal(const Tensor& a, const Tensor& b) {
  const Call call("array_equal", a, b);
  if (!same(a.shape(), b.shape())) return scalar_tensor(false, DType::boolean);
  return all(equal(a, b));
}

void register_special_ops() { special_ops(); }

}  // namespace plait
