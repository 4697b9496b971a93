// Elementwise functions.
#include "plait/ops/elementwise/elementwise.h"

#include <cmath>

#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/special.h"

#include "python/bindings/functions/bind.h"

namespace plait::python {
namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;

void bind_unary(nb::module_& m) {
  add_functions<Tensor(O)>(
      m,
      {{"negative", negative, "-x."},
       {"absolute", absolute, "|x|; real for complex numbers too."},
       {"sign", sign, "-1, 0 or 1; x / |x| for complex numbers; NaN for NaN."},
       {"square", square, "x * x."},
       {"reciprocal", reciprocal, "1 / x."},
       {"sqrt", sqrt, "The square root."},
       {"rsqrt", rsqrt, "1 / sqrt(x)."},
       {"exp", exp, "e to the power of x."},
       {"exp2", exp2, "2 to the power of x."},
       {"cbrt", cbrt, "The cube root, real also for negative numbers."},
       {"expm1", expm1, "exp(x) - 1, accurate near 0."},
       {"log", log, "The natural logarithm."},
       {"log2", log2, "The logarithm to base 2."},
       {"log10", log10, "The logarithm to base 10."},
       {"log1p", log1p, "log(1 + x), accurate near 0."},
       {"sin", sin, "The sine of an angle in radians."},
       {"cos", cos, "The cosine of an angle in radians."},
       {"tan", tan, "The tangent of an angle in radians."},
       {"asin", asin, "The inverse sine, in radians."},
       {"acos", acos, "The inverse cosine, in radians."},
       {"atan", atan, "The inverse tangent, in radians."},
       {"sinh", sinh, "The hyperbolic sine."},
       {"cosh", cosh, "The hyperbolic cosine."},
       {"tanh", tanh, "The hyperbolic tangent."},
       {"asinh", asinh, "The inverse hyperbolic sine."},
       {"acosh", acosh, "The inverse hyperbolic cosine."},
       {"atanh", atanh, "The inverse hyperbolic tangent."},
       {"sigmoid", sigmoid, "1 / (1 + exp(-x))."},
       {"erf", erf, "The error function."},
       {"floor", floor, "Rounded down."},
       {"ceil", ceil, "Rounded up."},
       {"trunc", trunc, "Rounded towards 0."},
       {"stop_gradient", stop_gradient, "x, treated as a constant by derivatives."},
       {"isnan", isnan, "True where x is NaN."},
       {"isinf", isinf, "True where x is infinite."},
       {"isfinite", isfinite, "True where x is neither infinite nor NaN."},
       {"bitwise_not", bitwise_not, "All bits inverted."},
       {"logical_not", logical_not, "True where x is 0."}},
      arg("x"));
}

// Rounds to decimals after the point, or before it if negative, as NumPy does.
Tensor round_of(O x, int64_t decimals) {
  if (decimals == 0) return round(x);
  const double power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  if (decimals > 0) return divide(round(multiply(x, power)), power);
  return multiply(round(divide(x, power)), power);
}

void bind_binary(nb::module_& m) {
  add_functions<Tensor(O, O)>(
      m,
      {{"add", add, "a + b."},
       {"subtract", subtract, "a - b."},
       {"multiply", multiply, "a * b."},
       {"divide", divide, "a / b; of integers f32."},
       {"floor_divide", floor_divide, "a / b rounded down; integers by 0 give 0."},
       {"remainder", remainder, "The remainder of floor_divide, with the sign of b."},
       {"power", power, "a to the power of b."},
       {"maximum", maximum, "The greater of a and b; NaN if either is NaN."},
       {"minimum", minimum, "The lesser of a and b; NaN if either is NaN."},
       {"hypot", hypot, "The square root of a * a + b * b, without overflow."},
       {"equal", equal, "a == b."},
       {"not_equal", not_equal, "a != b."},
       {"less", less, "a < b."},
       {"less_equal", less_equal, "a <= b."},
       {"greater", greater, "a > b."},
       {"greater_equal", greater_equal, "a >= b."},
       {"bitwise_and", bitwise_and, "a & b."},
       {"bitwise_or", bitwise_or, "a | b."},
       {"bitwise_xor", bitwise_xor, "a ^ b."},
       {"left_shift", left_shift, "a << b; 0 for shifts by the width or more."},
       {"right_shift", right_shift, "a >> b, an arithmetic shift for signed integers."},
       {"logical_and", logical_and, "True where neither is 0."},
       {"logical_or", logical_or, "True where at least one is not 0."},
       {"logical_xor", logical_xor, "True where exactly one is 0."},
       {"logaddexp", logaddexp, "log(exp(a) + exp(b)), without overflow."},
       {"logaddexp2", logaddexp2, "log2(2**a + 2**b), without overflow."},
       {"float_power", float_power, "a to the power of b in f64, or in c128."},
       {"gcd", gcd, "The greatest common divisor; 0 for two zeros."},
       {"lcm", lcm, "The least common multiple; 0 if one is 0."},
       {"betaln", betaln, "log |B(a, b)|, where B(a, b) = gamma(a) gamma(b) / gamma(a + b)."},
       {"fmod", fmod, "The remainder of a division rounded towards 0, with the sign of a."}},
      arg("a"), arg("b"));
  add_functions<Tensor(O, O)>(m, {{"atan2", atan2, "The angle of the point (x, y), in [-pi, pi]."}},
                              arg("y"), arg("x"));
  add_functions<Tensor(O, O)>(
      m,
      {{"copysign", copysign, "The magnitude of the first operand with the sign of the second."}},
      arg("magnitude"), arg("sign"));
  add_functions<Tensor(O, O)>(m,
                              {{"xlogy", xlogy, "x log(y); 0 for x = 0 unless y is NaN."},
                               {"xlog1py", xlog1py, "x log(1 + y); 0 for x = 0 unless y is NaN."},
                               {"rel_entr", rel_entr,
                                "x log(x / y); 0 for x = 0 and y >= 0, infinite elsewhere beyond "
                                "the positive numbers."},
                               {"kl_div", kl_div, "rel_entr(x, y) - x + y."},
                               {"nextafter", nextafter, "The next number from x towards y."}},
                              arg("x"), arg("y"));
}

using Bound = std::optional<PythonOperand>;
Tensor clip_of(O x, const Bound& least, const Bound& most) {
  if (least && most) return clip(x, least->get(), most->get());
  if (least) return maximum(x, least->get());
  return most ? minimum(x, most->get()) : tensor_from(x);
}

void bind_rounding(nb::module_& m) {
  add_functions<Tensor(O, int64_t)>(
      m,
      {{"round", round_of,
        "Rounded to the nearest integer, halves to even; or to `decimals` decimals."}},
      arg("x"), arg("decimals") = 0);
}

void bind_ternary(nb::module_& m) {
  add_functions<Tensor(T, O, O)>(
      m, {{"where", where, "`x1` where the condition is true, `x2` elsewhere."}}, arg("condition"),
      arg("x1"), arg("x2"));
  add_functions<Tensor(O, const Bound&, const Bound&)>(
      m, {{"clip", clip_of, "x limited to the range from `min` to `max`."}}, arg("x"),
      arg("min") = nb::none(), arg("max") = nb::none());
  add_functions<Tensor(O, O, O)>(
      m, {{"lerp", lerp, "Linear interpolation from start to end by weight, exact at both ends."}},
      arg("start"), arg("end"), arg("weight"));
  add_functions<Tensor(O, O, O, const Scalar&)>(
      m, {{"addcmul", addcmul, "x + scale * a * b."}, {"addcdiv", addcdiv, "x + scale * a / b."}},
      arg("x"), arg("a"), arg("b"), arg("scale") = 1);
}

void bind_special(nb::module_& m) {
  add_functions<Tensor(O)>(
      m,
      {{"erfc", erfc, "1 - erf(x), accurate where that is small."},
       {"erfinv", erfinv, "The inverse of erf; NaN outside of [-1, 1]."},
       {"lgamma", lgamma, "The logarithm of |gamma(x)|."},
       {"digamma", digamma, "The derivative of lgamma."},
       {"frac", frac, "The fractional part: x - trunc(x)."},
       {"logit", logit, "log(x / (1 - x)), the inverse of sigmoid."},
       {"sinc", sinc, "sin(pi x) / (pi x), 1 at 0."},
       {"entr", entr, "-x log(x); 0 for x = 0, -inf below 0."},
       {"log1mexp", log1mexp, "log(1 - exp(-x)), accurate near 0 and for large x; NaN below 0."},
       {"erfcx", erfcx, "exp(x * x) erfc(x)."},
       {"ndtr", ndtr, "The cumulative distribution function of the standard normal distribution."},
       {"log_ndtr", log_ndtr, "The logarithm of ndtr, accurate also where ndtr underflows to 0."},
       {"i0", i0, "The modified Bessel function of the first kind and order 0."},
       {"i0e", i0e, "exp(-|x|) i0(x)."},
       {"i1", i1, "The modified Bessel function of the first kind and order 1."},
       {"i1e", i1e, "exp(-|x|) i1(x)."},
       {"deg2rad", deg2rad, "Degrees converted to radians."},
       {"rad2deg", rad2deg, "Radians converted to degrees."},
       {"signbit", signbit, "True where the sign bit is set, also for -0 and NaN."}},
      arg("x"));
  add_functions<Tensor(O)>(
      m, {{"ndtri", ndtri, "The inverse of ndtr, the quantile function; NaN outside of [0, 1]."}},
      arg("p"));
  add_functions<MantissaAndExponent(O)>(m,
                                        {{"frexp", frexp,
                                          "The mantissa and the exponent (i32), with x = mantissa "
                                          "* 2**exponent and 1/2 <= |mantissa| < 1."}},
                                        arg("x"));
  add_functions<Tensor(O, O)>(
      m, {{"ldexp", ldexp, "x * 2**exponent, for integer exponents, rounded once."}}, arg("x"),
      arg("exponent"));
  add_functions<Tensor(O, O)>(m,
                              {{"heaviside", heaviside, "0 below 0, 1 above, and at_zero at 0."}},
                              arg("x"), arg("at_zero"));
  add_functions<Tensor(O, O)>(
      m,
      {{"zeta", zeta,
        "The sum of 1 / (q + k)**x over k = 0, 1, ..., differentiable with respect to q."}},
      arg("x"), arg("q"));
  add_functions<Tensor(O, O)>(
      m,
      {{"gammainc", gammainc, "The regularised lower incomplete gamma function."},
       {"gammaincc", gammaincc, "The regularised upper incomplete gamma function."},
       {"gammainc_grad_a", gammainc_grad_a, "The derivative of gammainc with respect to a."},
       {"random_gamma_grad", random_gamma_grad,
        "The derivative of a sample x of the gamma distribution of shape a with respect to a."}},
      arg("a"), arg("x"));
  add_functions<Tensor(O, O, O)>(
      m, {{"betainc", betainc, "The regularised incomplete beta function."}}, arg("a"), arg("b"),
      arg("x"));
  add_functions<Tensor(O, int64_t)>(m,
                                    {{"multigammaln", multigammaln,
                                      "The logarithm of the multivariate gamma function of that "
                                      "order; NaN for a <= (order - 1) / 2."}},
                                    arg("a"), arg("order"));
  add_functions<Tensor(O, O)>(m, {{"polygamma", polygamma, "The n-th derivative of digamma."}},
                              arg("n"), arg("x"));
  add_functions<Tensor(T, const NanReplacements&)>(
      m,
      {{"nan_to_num", nan_to_num,
        "Replaces NaN and infinities by numbers: by default by 0, and the greatest and the least "
        "of the dtype."}},
      arg("x"));
  add_functions<Tensor(O, O, const Closeness&)>(
      m,
      {{"isclose", isclose, "True where |a - b| <= atol + rtol * |b|."},
       {"allclose", allclose, "True if isclose is true everywhere."}},
      arg("a"), arg("b"));
  add_functions<Tensor(T, T)>(
      m, {{"array_equal", array_equal, "True if sizes and all elements are equal."}}, arg("a"),
      arg("b"));
  add_functions<Tensor(T)>(m,
                           {{"real", real, "The real part."},
                            {"imag", imag, "The imaginary part."},
                            {"conj", conj, "The conjugate."},
                            {"angle", angle, "The argument of a complex number, in (-pi, pi]."}},
                           arg("x"));
  add_functions<Tensor(O, O)>(m, {{"make_complex", make_complex, "real + imag * 1j."}}, arg("real"),
                              arg("imag"));
}

}  // namespace

void bind_elementwise(nb::module_& module) {
  bind_unary(module);
  bind_binary(module);
  bind_rounding(module);
  bind_ternary(module);
  bind_special(module);
}

}  // namespace plait::python
