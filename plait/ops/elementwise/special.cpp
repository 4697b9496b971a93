#include "plait/ops/elementwise/special.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "plait/core/error.h"
#include "plait/core/inside/mathematics/special_functions.h"
#include "plait/core/inside/sizes/divisors.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/blockwise.h"
#include "plait/ops/inside/elementwise/scalar_functions.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

using Reals = std::span<const double>;
using Integers = std::span<const int64_t>;
using Naturals = std::span<const uint64_t>;
using Complexes = std::span<const std::complex<double>>;
using Number = std::complex<double>;
using Context = RuleContext;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double log_add_exp(Reals x) {
  if (x[0] == x[1]) return x[0] + std::numbers::ln2;
  return std::max(x[0], x[1]) + std::log1p(std::exp(-std::abs(x[0] - x[1])));
}

double log_add_exp2(Reals x) {
  if (x[0] == x[1]) return x[0] + 1;
  const double rest = std::log1p(std::exp2(-std::abs(x[0] - x[1])));
  return std::max(x[0], x[1]) + rest * std::numbers::log2e;
}

// e^a / (e^a + e^b); ½ if both are the same infinity.
Tensor share_of(const Tensor& a, const Tensor& b) {
  const Tensor is_same = isinf(a) & equal(a, b);
  return sigmoid(where(is_same, 0, a) - where(is_same, 0, b));
}

struct SpecialTable {
  const ir::Primitive& erfc = declare_function(
      1, {"erfc",
          plait::erfc,
          "1 − erf x, accurate where that is small.",
          "scipy.special.erfc",
          kFloatings,
          {.real = [](Reals x) { return std::erfc(x[0]); }},
          {.partials = {Partial::of(kFirst, [](const Context& c) {
             return -2 * std::numbers::inv_sqrtpi * plait::exp(-square(c.operand(0)));
           })}}});
  const ir::Primitive& erfinv =
      declare_function(1, {"erfinv",
                           plait::erfinv,
                           "The inverse of erf; NaN outside of [−1, 1].",
                           "scipy.special.erfinv",
                           kFloatings,
                           {.real = [](Reals x) { return special::erf_inverse(x[0]); }},
                           {.partials = {Partial::of(kResult,
                                                     [](const Context& c) {
                                                       return 0.5 / std::numbers::inv_sqrtpi *
                                                              plait::exp(square(c.result()));
                                                     })}},
                           {.precision = ir::Precision::wide,
                            .accuracy = ir::Accuracy::special,
                            .domain = {{-0.95, 0.95}}}});
  const ir::Primitive& lgamma = declare_function(
      1, {"lgamma",
          plait::lgamma,
          "The logarithm of the magnitude of Γ(x).",
          "scipy.special.gammaln",
          kFloatings,
          {.real = [](Reals x) { return special::log_gamma(x[0]); }},
          {.partials = {Partial::of(
               kFirst, [](const Context& c) { return plait::digamma(c.operand(0)); })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.1, 9.0}}}});
  const ir::Primitive& digamma = declare_function(
      1, {"digamma",
          plait::digamma,
          "The derivative of lgamma.",
          "scipy.special.digamma",
          kFloatings,
          {.real = [](Reals x) { return special::digamma(x[0]); }},
          {.partials = {Partial::of(
               kFirst, [](const Context& c) { return plait::polygamma(1, c.operand(0)); })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.1, 9.0}}}});
  const ir::Primitive& polygamma = declare_function(
      2, {"polygamma",
          plait::polygamma,
          "The n-th derivative of digamma at x; operands n, an integer, and x.",
          "mpmath.psi",
          kFloatings,
          {.real = [](Reals x) { return special::polygamma(x[0], x[1]); }},
          {.partials = {Partial::zero(), Partial::of(kFirst | kSecond,
                                                     [](const Context& c) {
                                                       return plait::polygamma(c.operand(0) + 1,
                                                                               c.operand(1));
                                                     })}},
          {.precision = ir::Precision::wide, .accuracy = ir::Accuracy::special}});
  const ir::Primitive& logaddexp = declare_function(
      2, {"logaddexp",
          plait::logaddexp,
          "log(e^a + e^b), without overflow.",
          "numpy.logaddexp",
          kFloatings,
          {.real = log_add_exp},
          {.partials = {
               Partial::of(kFirst | kSecond,
                           [](const Context& c) { return share_of(c.operand(0), c.operand(1)); }),
               Partial::of(kFirst | kSecond, [](const Context& c) {
                 return share_of(c.operand(1), c.operand(0));
               })}}});
  const ir::Primitive& fmod = declare_function(
      2, {"fmod",
          plait::fmod,
          "The remainder of a / b rounded towards 0, with the sign of a; integers by 0 give 0.",
          "numpy.fmod",
          kReals,
          {.real = [](Reals x) { return std::fmod(x[0], x[1]); },
           .integer = [](Integers x) { return x[1] == 0 || x[1] == -1 ? 0 : x[0] % x[1]; },
           .natural = [](Naturals x) { return x[1] == 0 ? 0 : x[0] % x[1]; }},
          {.partials = {Partial::one(), Partial::of(kFirst | kSecond,
                                                    [](const Context& c) {
                                                      return -trunc(c.operand(0) / c.operand(1));
                                                    })}},
          {.accuracy = ir::Accuracy::exact}});
  const ir::Primitive& nextafter =
      declare_function(2, {"nextafter",
                           plait::nextafter,
                           "The next number of the dtype from x towards y.",
                           "numpy.nextafter",
                           kFloatings,
                           {.real = [](Reals x) { return std::nextafter(x[0], x[1]); }},
                           {.not_differentiable = "steps from one number to the next"},
                           {.accuracy = ir::Accuracy::exact}});
  const ir::Primitive& logaddexp2 = declare_function(
      2, {"logaddexp2",
          plait::logaddexp2,
          "log₂(2^a + 2^b), without overflow.",
          "numpy.logaddexp2",
          kFloatings,
          {.real = log_add_exp2},
          {.partials = {Partial::of(kFirst | kSecond,
                                    [](const Context& c) {
                                      return share_of(c.operand(0) * std::numbers::ln2,
                                                      c.operand(1) * std::numbers::ln2);
                                    }),
                        Partial::of(kFirst | kSecond, [](const Context& c) {
                          return share_of(c.operand(1) * std::numbers::ln2,
                                          c.operand(0) * std::numbers::ln2);
                        })}}});
  const ir::Primitive& entr = declare_function(
      1,
      {"entr",
       plait::entr,
       "−x log x: 0 for x = 0, and −∞ below.",
       "scipy.special.entr",
       kFloatings,
       {.real = [](Reals x) { return special::entropy(x[0]); }},
       {.partials = {Partial::of(kFirst, [](const Context& c) { return -log(c.operand(0)) - 1; })}},
       {.accuracy = ir::Accuracy::special, .domain = {{0.0, 3.0}}}});
  const ir::Primitive& log1mexp = declare_function(
      1, {"log1mexp",
          plait::log1mexp,
          "log(1 − e^−x), accurate near 0 and for large x; NaN below 0.",
          "numpy.log of −numpy.expm1(−x), or numpy.log1p of −numpy.exp(−x), by which loses less",
          kFloatings,
          {.real = [](Reals x) { return special::log_1_minus_exp(x[0]); }},
          {.partials = {Partial::of(kFirst,
                                    [](const Context& c) {
                                      // 1/(e^x − 1), times e^−x/e^−x: e^x overflows for large x,
                                      // and the derivatives would be 0 · ∞.
                                      const Tensor negated = -c.operand(0);
                                      return plait::exp(negated) / -plait::expm1(negated);
                                    })}},
          {.precision = ir::Precision::wide,
           .accuracy = ir::Accuracy::special,
           .domain = {{0.1, 9.0}}}});
  const ir::Primitive& ldexp = declare_function(
      2, {"ldexp",
          {},
          "x times 2^e, rounded once; e is an integer.",
          "numpy.ldexp",
          kFloatings,
          {.real = [](Reals x) { return special::times_power_of_2(x[0], x[1]); }},
          {.partials = {Partial::of(kSecond,
                                    [](const Context& c) { return plait::exp2(c.operand(1)); }),
                        Partial::zero()}},
          {.accuracy = ir::Accuracy::exact}});
  const ir::Primitive& exponent = declare_function(
      1, {"exponent",
          {},
          "The integer e for which x = m 2^e with ½ ≤ |m| < 1; 0 for 0, infinities and NaN.",
          "numpy.frexp",
          kFloatings,
          {.real = [](Reals x) { return special::exponent(x[0]); }},
          {.not_differentiable = "returns integers"},
          {.accuracy = ir::Accuracy::exact}});
  const ir::Primitive& gcd =
      declare_function(2, {"gcd",
                           plait::gcd,
                           "The greatest common divisor; 0 for two zeros.",
                           "numpy.gcd",
                           kIntegers,
                           {.integer = [](Integers x) { return common_divisor(x[0], x[1]); },
                            .natural = [](Naturals x) { return common_divisor(x[0], x[1]); }},
                           {.not_differentiable = "returns integers"},
                           {.accuracy = ir::Accuracy::exact, .domain = {{-99, 99}}}});
  const ir::Primitive& lcm =
      declare_function(2, {"lcm",
                           plait::lcm,
                           "The least common multiple; 0 if one is 0.",
                           "numpy.lcm",
                           kIntegers,
                           {.integer = [](Integers x) { return common_multiple(x[0], x[1]); },
                            .natural = [](Naturals x) { return common_multiple(x[0], x[1]); }},
                           {.not_differentiable = "returns integers"},
                           {.accuracy = ir::Accuracy::exact, .domain = {{-99, 99}}}});
};
const SpecialTable& special_ops() {
  static const SpecialTable table;
  return table;
}

// log(a / b) for a, b > 0, with a small relative error near a = b, and where the quotient
// underflows or overflows. `where` keeps each formula away from points at which its derivative is
// infinite.
Tensor log_ratio(const Tensor& a, const Tensor& b) {
  const Tensor ratio = a / b;
  const Tensor is_near = greater(ratio, 0.5) & less(ratio, 2);
  const Tensor is_extreme = equal(ratio, 0) | isinf(ratio);
  const auto unless = [](const Tensor& condition, const Tensor& x) {
    return where(condition, 1, x);
  };
  const Tensor near = log1p(where(is_near, (a - b) / unless(~is_near, b), 0));
  const Tensor far = log(unless(is_extreme, a) / unless(is_extreme, b));
  const Tensor extreme = log(unless(~is_extreme, a)) - log(unless(~is_extreme, b));
  return where(is_near, near, far + extreme);
}

// sin(π x), reduced exactly by multiples of 2.
Tensor sine_of_half_turns(const Tensor& x) {
  return sin((is_complex(x.dtype()) ? x : x - 2 * round(x / 2)) * std::numbers::pi);
}

// The dtype of the computation; integers may exceed f32.
DType wide(DType dtype) { return is_inexact(dtype) ? dtype : DType::f64; }

double greatest_of(DType dtype) {
  const FloatFormat format = info_of(dtype).format;
  // A format without infinity uses only the mantissa of all ones in the last binade for NaN.
  const int exponent = (1 << format.exponent_bits) - 1 - format.bias() - format.has_infinity;
  const double ones = format.has_infinity ? 1 : 2;
  return std::ldexp(2 - ones * std::ldexp(1, -format.mantissa_bits), exponent);
}

}  // namespace

Tensor erfc(const Operand& x) {
  const Call call("erfc", x);
  return apply_inexactly(special_ops().erfc, x);
}
Tensor erfinv(const Operand& x) {
  const Call call("erfinv", x);
  return apply_inexactly(special_ops().erfinv, x);
}
Tensor lgamma(const Operand& x) {
  const Call call("lgamma", x);
  return apply_inexactly(special_ops().lgamma, x);
}
Tensor digamma(const Operand& x) {
  const Call call("digamma", x);
  return apply_inexactly(special_ops().digamma, x);
}
Tensor polygamma(const Operand& n, const Operand& x) {
  const Call call("polygamma", n, x);
  return apply_inexactly(special_ops().polygamma, n, x);
}
Tensor logaddexp(const Operand& a, const Operand& b) {
  const Call call("logaddexp", a, b);
  return apply_inexactly(special_ops().logaddexp, a, b);
}
Tensor fmod(const Operand& a, const Operand& b) {
  const Call call("fmod", a, b);
  return apply_function(special_ops().fmod, {a, b}, common_dtype(a, b));
}
Tensor nextafter(const Operand& x, const Operand& y) {
  const Call call("nextafter", x, y);
  return apply_inexactly(special_ops().nextafter, x, y);
}

Tensor logaddexp2(const Operand& a, const Operand& b) {
  const Call call("logaddexp2", a, b);
  return apply_inexactly(special_ops().logaddexp2, a, b);
}
Tensor entr(const Operand& x) {
  const Call call("entr", x);
  return apply_inexactly(special_ops().entr, x);
}
Tensor log1mexp(const Operand& x) {
  const Call call("log1mexp", x);
  return apply_inexactly(special_ops().log1mexp, x);
}
Tensor gcd(const Operand& a, const Operand& b) {
  const Call call("gcd", a, b);
  return apply_function(special_ops().gcd, {a, b}, common_dtype(a, b));
}
Tensor lcm(const Operand& a, const Operand& b) {
  const Call call("lcm", a, b);
  return apply_function(special_ops().lcm, {a, b}, common_dtype(a, b));
}

Tensor ldexp(const Operand& x, const Operand& exponent) {
  const Call call("ldexp", x, exponent);
  const DType given = tensor_from(exponent).dtype();
  if (!is_integer(given) && !is_boolean(given)) {
    throw TypeError("ldexp: the exponent is {}, not an integer", name_of(given))
        .at(Location::of_caller());
  }
  const Tensor number = tensor_from(x);
  const DType dtype = inexact(number.dtype());
  const DType wide = computed(dtype);  // narrow floats cannot hold all exponents
  return astype(apply_function(special_ops().ldexp, {astype(number, dtype), exponent}, wide),
                dtype);
}

MantissaAndExponent frexp(const Operand& x) {
  const Call call("frexp", x);
  const Tensor number = tensor_from(x);
  const DType dtype = inexact(number.dtype()), wide = computed(dtype);
  const Tensor exponent = apply_function(special_ops().exponent, {number}, wide);
  const Tensor mantissa = apply_function(special_ops().ldexp, {number, -exponent}, wide);
  return {astype(mantissa, dtype), astype(exponent, DType::i32)};
}

Tensor xlogy(const Operand& x, const Operand& y) {
  const Call call("xlogy", x, y);
  const DType dtype = inexact(common_dtype(x, y));
  return blockwise({x.as(dtype), y.as(dtype)}, [](std::span<const Tensor> both) {
    const Tensor &factor = both[0], &number = both[1];
    // The cases in which the product or its derivatives would be 0 · ∞.
    const Tensor is_limit = equal(factor, 0) & (less_equal(number, 0) | equal(number, kInfinite));
    return where(is_limit, 0, factor * log(where(is_limit, 1, number)));
  });
}

Tensor xlog1py(const Operand& x, const Operand& y) {
  const Call call("xlog1py", x, y);
  const DType dtype = inexact(common_dtype(x, y));
  return blockwise({x.as(dtype), y.as(dtype)}, [](std::span<const Tensor> both) {
    const Tensor &factor = both[0], &number = both[1];
    const Tensor is_limit = equal(factor, 0) & (less_equal(number, -1) | equal(number, kInfinite));
    return where(is_limit, 0, factor * log1p(where(is_limit, 0, number)));
  });
}

Tensor rel_entr(const Operand& x, const Operand& y) {
  const Call call("rel_entr", x, y);
  const DType dtype = inexact(common_dtype(x, y));
  return blockwise({x.as(dtype), y.as(dtype)}, [](std::span<const Tensor> both) {
    const Tensor &p = both[0], &q = both[1];
    // Neither logarithm is evaluated where it is infinite, because that would make derivatives NaN.
    const Tensor is_inside = greater(p, 0) & greater(q, 0);
    const Tensor is_nan = isnan(p) | isnan(q);
    const Tensor safe_p = where(is_inside, p, 1), safe_q = where(is_inside, q, 1);
    const Tensor is_none = equal(p, 0) & greater_equal(q, 0);
    return where(is_inside, safe_p * log_ratio(safe_p, safe_q),
                 where(is_none, 0.0, where(is_nan, p + q, kInfinite)));
  });
}

Tensor kl_div(const Operand& x, const Operand& y) {
  const Call call("kl_div", x, y);
  const DType dtype = inexact(common_dtype(x, y));
  return blockwise({x.as(dtype), y.as(dtype)}, [](std::span<const Tensor> both) {
    const Tensor &p = both[0], &q = both[1], entropy = rel_entr(p, q);
    return where(equal(entropy, kInfinite), kInfinite, entropy - p + q);
  });
}

Tensor logit(const Operand& x) {
  const Call call("logit", x);
  const Tensor tensor = tensor_from(x);
  if (is_complex(tensor.dtype())) {
    throw TypeError("logit: expected real numbers").at(Location::of_caller());
  }
  return blockwise({tensor}, [](std::span<const Tensor> operands) {
    const Tensor p = astype(operands[0], inexact(operands[0].dtype()));
    // Near ½ the difference of the logarithms would cancel.
    const Tensor is_central = less(absolute(p - 0.5), 0.25);
    const Tensor centre = where(is_central, p, 0.5), rest = where(is_central, 0.5, p);
    return where(is_central, 2 * atanh(2 * centre - 1), log(rest) - log1p(-rest));
  });
}

Tensor sinc(const Operand& x) {
  const Call call("sinc", x);
  const Tensor tensor = tensor_from(x);
  const DType dtype = inexact(tensor.dtype());
  return blockwise({tensor}, [&](std::span<const Tensor> operands) {
    const Tensor turns = astype(operands[0], computed(dtype));
    // Near 0 by its power series, which has derivatives of any order.
    const Tensor is_near = less(absolute(turns), 0.25);
    const Tensor square = plait::square(where(is_near, turns, 0) * std::numbers::pi);
    Tensor series = ones_like(square);
    for (int k = 8; k > 0; --k) series = 1 - series * square / (2 * k * (2 * k + 1));
    const Tensor far = where(is_near, 1, turns);
    const Tensor sine = sine_of_half_turns(far) / (far * std::numbers::pi);
    return astype(where(is_near, series, sine), dtype);
  });
}

Tensor heaviside(const Operand& x, const Operand& at_zero) {
  const Call call("heaviside", x, at_zero);
  const DType dtype = common_dtype(x, at_zero);
  return blockwise({x.as(dtype), at_zero.as(dtype)}, [&](std::span<const Tensor> both) {
    const Tensor& number = both[0];
    const Tensor step = where(isnan(number), number, astype(greater(number, 0), dtype));
    return where(equal(number, 0), both[1], stop_gradient(step));
  });
}

Tensor float_power(const Operand& a, const Operand& b) {
  const Call call("float_power", a, b);
  const DType dtype = is_complex(common_dtype(a, b)) ? DType::c128 : DType::f64;
  return power(a.as(dtype), b.as(dtype));
}

Tensor deg2rad(const Operand& x) {
  const Call call("deg2rad", x);
  return multiply(x, std::numbers::pi / 180);
}
Tensor rad2deg(const Operand& x) {
  const Call call("rad2deg", x);
  return multiply(x, 180 / std::numbers::pi);
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
  return blockwise({x}, [&](std::span<const Tensor> operands) {
    const Tensor& y = operands[0];
    const Tensor whole = where(isnan(y), replacements.nan, y);  // throws for a key
    const double greatest = greatest_of(y.dtype());
    const Tensor below =
        where(equal(y, kInfinite), replacements.positive_infinity.value_or(greatest), whole);
    return where(equal(y, -kInfinite), replacements.negative_infinity.value_or(-greatest), below);
  });
}

Tensor lerp(const Operand& start, const Operand& end, const Operand& weight) {
  const Call call("lerp", start, end, weight);
  const DType dtype = inexact(common_dtype({&start, &end, &weight}));
  return blockwise({start.as(dtype), end.as(dtype), weight.as(dtype)},
                   [](std::span<const Tensor> all) {
                     const Tensor &a = all[0], &b = all[1], &w = all[2], distance = b - a;
                     return where(less(absolute(w), 0.5), a + w * distance, b - distance * (1 - w));
                   });
}

Tensor addcmul(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale) {
  const Call call("addcmul", x, a, b);
  if (!a.is_tensor() || !b.is_tensor()) return tensor_from(x) + multiply(a, b) * scale;
  return blockwise({tensor_from(x), a.tensor(), b.tensor()},
                   [&](std::span<const Tensor> all) { return all[0] + all[1] * all[2] * scale; });
}
Tensor addcdiv(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale) {
  const Call call("addcdiv", x, a, b);
  if (!a.is_tensor() || !b.is_tensor()) return tensor_from(x) + divide(a, b) * scale;
  return blockwise({tensor_from(x), a.tensor(), b.tensor()},
                   [&](std::span<const Tensor> all) { return all[0] + all[1] / all[2] * scale; });
}

Tensor isclose(const Operand& a, const Operand& b, const Closeness& closeness) {
  const Call call("isclose", a, b);
  expect_not_negative("rtol", closeness.rtol);
  expect_not_negative("atol", closeness.atol);
  const DType dtype = wide(common_dtype(a, b));
  return blockwise({a.as(dtype), b.as(dtype)}, [&](std::span<const Tensor> both) {
    const Tensor &x = both[0], &y = both[1];
    const Tensor limit = absolute(y) * closeness.rtol + closeness.atol;
    const Tensor near = less_equal(absolute(x - y), limit) & isfinite(x) & isfinite(y);
    const Tensor close = near | equal(x, y);
    return closeness.equal_nan ? close | (isnan(x) & isnan(y)) : close;
  });
}

Tensor allclose(const Operand& a, const Operand& b, const Closeness& closeness) {
  const Call call("allclose", a, b);
  return all(isclose(a, b, closeness));
}

Tensor array_equal(const Tensor& a, const Tensor& b) {
  const Call call("array_equal", a, b);
  if (!same(a.shape(), b.shape())) return on_default_device(scalar_tensor(false, DType::boolean));
  return all(equal(a, b));
}

void register_special_ops() { special_ops(); }

}  // namespace plait
