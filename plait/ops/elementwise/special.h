// Special functions and further elementwise functions. As in elementwise.h, dtypes are promoted and
// shapes are broadcast.
#pragma once

#include <optional>

#include "plait/ops/operand.h"

namespace plait {

Tensor erfc(const Operand& x);     // 1 − erf(x), accurate where that is small
Tensor erfinv(const Operand& x);   // NaN outside of [−1, 1]
Tensor lgamma(const Operand& x);   // log |Γ(x)|
Tensor digamma(const Operand& x);  // the derivative of lgamma
// The n-th derivative of digamma, for integers n; NaN for negative x if n > 1.
Tensor polygamma(const Operand& n, const Operand& x);
Tensor logaddexp(const Operand& a, const Operand& b);  // log(e^a + e^b)
Tensor log1mexp(const Operand& x);  // log(1 − e^−x), accurate near 0 and for large x; NaN below 0
Tensor xlogy(const Operand& x, const Operand& y);  // x log y; 0 for x = 0 unless y is NaN

Tensor xlog1py(const Operand& x, const Operand& y);     // x log(1 + y); 0 for x = 0 unless y is NaN
Tensor logaddexp2(const Operand& a, const Operand& b);  // log₂(2^a + 2^b)
Tensor logit(const Operand& x);                         // log(x / (1 − x)), the inverse of sigmoid
Tensor sinc(const Operand& x);                          // sin(π x) / (π x), 1 at 0

// −x log x, x log(x / y), and x log(x / y) − x + y. They are 0 for x = 0 (and y ≥ 0). Outside of
// the domain entr is −∞, and the others are ∞.
Tensor entr(const Operand& x);
Tensor rel_entr(const Operand& x, const Operand& y);
Tensor kl_div(const Operand& x, const Operand& y);

// ---- The normal distribution, and functions related to erfc.
Tensor erfcx(const Operand& x);     // e^(x²) erfc x
Tensor ndtr(const Operand& x);      // cumulative distribution function of the standard normal
Tensor log_ndtr(const Operand& x);  // log ndtr(x), also where ndtr(x) underflows
Tensor ndtri(const Operand& p);     // the inverse of ndtr; NaN outside of [0, 1]

// ---- Modified Bessel functions of the first kind; with the suffix e, scaled by e^−|x|.
Tensor i0(const Operand& x);
Tensor i0e(const Operand& x);
Tensor i1(const Operand& x);
Tensor i1e(const Operand& x);

// ---- Functions related to Γ.
Tensor zeta(const Operand& x, const Operand& q);    // Σ 1 / (q + k)^x, k = 0, 1, …
Tensor betaln(const Operand& a, const Operand& b);  // log |B(a, b)|
Tensor multigammaln(const Operand& a,
                    int64_t order);  // log of the multivariate Γ: NaN for a ≤ (order − 1)/2
// Regularised incomplete gamma functions, lower P(a, x) and upper Q(a, x), differentiable in both
// operands, but only once in a. Then ∂P/∂a, and ∂x/∂a at constant P, the derivative of a gamma
// sample by its shape; both are differentiable in x only.
Tensor gammainc(const Operand& a, const Operand& x);
Tensor gammaincc(const Operand& a, const Operand& x);
Tensor gammainc_grad_a(const Operand& a, const Operand& x);
Tensor random_gamma_grad(const Operand& a, const Operand& x);
// The regularised incomplete beta function, differentiable in all three operands, but only once in
// a and b.
Tensor betainc(const Operand& a, const Operand& b, const Operand& x);

Tensor heaviside(const Operand& x, const Operand& at_zero);  // 0 below 0, 1 above, at_zero at 0
Tensor float_power(const Operand& a, const Operand& b);      // computed in f64, or c128
Tensor deg2rad(const Operand& x);
Tensor rad2deg(const Operand& x);
Tensor gcd(const Operand& a, const Operand& b);  // integers only
Tensor lcm(const Operand& a, const Operand& b);

// x = mantissa · 2^exponent with ½ ≤ |mantissa| < 1, unless x is 0, infinite or NaN. Exponents are
// i32.
struct MantissaAndExponent {
  Tensor mantissa, exponent;
};
MantissaAndExponent frexp(const Operand& x);
Tensor ldexp(const Operand& x, const Operand& exponent);  // x · 2^exponent, rounded once

Tensor fmod(const Operand& a, const Operand& b);       // has the sign of a; 0 for integers with b =
                                                       // 0
Tensor frac(const Operand& x);                         // x − trunc(x)
Tensor nextafter(const Operand& x, const Operand& y);  // the next representable number towards y
Tensor signbit(const Operand& x);                      // also for −0 and NaN

// Replacements for NaN, ∞ and −∞. If not given, infinities become the greatest and the least finite
// number of the dtype.
struct NanReplacements {
  double nan = 0;
  std::optional<double> positive_infinity = {}, negative_infinity = {};
};
Tensor nan_to_num(const Tensor& x, const NanReplacements& replacements = {});

// Linear interpolation from start to end; exact at weights 0 and 1.
Tensor lerp(const Operand& start, const Operand& end, const Operand& weight);
Tensor addcmul(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale = 1);
Tensor addcdiv(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale = 1);

// |a − b| ≤ atol + rtol |b|; an infinity is close only to itself.
struct Closeness {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
Tensor isclose(const Operand& a, const Operand& b, const Closeness& closeness = {});
Tensor allclose(const Operand& a, const Operand& b, const Closeness& closeness = {});
Tensor array_equal(const Tensor& a, const Tensor& b);  // false if the shapes differ

void register_special_ops();
void register_special_functions();

}  // namespace plait
