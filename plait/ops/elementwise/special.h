// Functions beyond the everyday ones. As in elementwise.h: dtypes are promoted, sizes of 1 stretch.
#pragma once

#include <optional>

#include "plait/ops/operand.h"

namespace plait {

Tensor erfc(const Operand& x);     // 1 − erf, accurate where that is small
Tensor erfinv(const Operand& x);   // NaN beyond −1 and 1
Tensor lgamma(const Operand& x);   // log |Γ(x)|
Tensor digamma(const Operand& x);  // the derivative of lgamma
// The n-th derivative of digamma, for whole n; NaN below 0 for n > 1.
Tensor polygamma(const Operand& n, const Operand& x);
Tensor logaddexp(const Operand& a, const Operand& b);  // log(e^a + e^b)
Tensor xlogy(const Operand& x, const Operand& y);      // x log y; 0 for x = 0 unless y is NaN

Tensor xlog1py(const Operand& x, const Operand& y);     // x log(1 + y), likewise
Tensor logaddexp2(const Operand& a, const Operand& b);  // log₂(2^a + 2^b)
Tensor logit(const Operand& x);                         // log(x / (1 − x)): what sigmoid makes x of
Tensor sinc(const Operand& x);                          // sin(π x) / (π x), 1 at 0

// −x log x, and x log(x / y) with and without − x + y: 0 for x = 0 (and y ≥ 0), infinite for other
// numbers beyond the positive ones.
Tensor entr(const Operand& x);
Tensor rel_entr(const Operand& x, const Operand& y);
Tensor kl_div(const Operand& x, const Operand& y);

// ---- The normal distribution, and relatives of erfc.
Tensor erfcx(const Operand& x);     // e^(x²) erfc x
Tensor ndtr(const Operand& x);      // the share below x
Tensor log_ndtr(const Operand& x);  // its logarithm, also where the share is 0
Tensor ndtri(const Operand& p);     // below which the share is p; NaN beyond 0 and 1

// ---- Modified Bessel functions of the first kind; those with an e: times e^−|x|.
Tensor i0(const Operand& x);
Tensor i0e(const Operand& x);
Tensor i1(const Operand& x);
Tensor i1e(const Operand& x);

// ---- Of Γ.
Tensor zeta(const Operand& x, const Operand& q);    // Σ 1 / (q + k)^x, k = 0, 1, …
Tensor betaln(const Operand& a, const Operand& b);  // log |B(a, b)|
Tensor multigammaln(const Operand& a,
                    int64_t order);  // log Γ of matrices: NaN for a ≤ (order − 1)/2
// The shares of the gamma distribution of shape a below and above x, differentiable by both, but by
// a once. Then the derivative of the first by a, and how a draw x moves with a where the share
// below it is held: by x they may be differentiated.
Tensor gammainc(const Operand& a, const Operand& x);
Tensor gammaincc(const Operand& a, const Operand& x);
Tensor gammainc_grad_a(const Operand& a, const Operand& x);
Tensor random_gamma_grad(const Operand& a, const Operand& x);
// The share of the beta distribution of shapes a and b below x, differentiable by all three, but by
// the shapes once.
Tensor betainc(const Operand& a, const Operand& b, const Operand& x);

Tensor heaviside(const Operand& x, const Operand& at_zero);  // 0 below 0, 1 above, that at 0
Tensor float_power(const Operand& a, const Operand& b);      // in f64, or c128
Tensor deg2rad(const Operand& x);
Tensor rad2deg(const Operand& x);
Tensor gcd(const Operand& a, const Operand& b);  // of integers
Tensor lcm(const Operand& a, const Operand& b);

// x = mantissa · 2^exponent, where ½ ≤ |mantissa| < 1 or x is 0, infinite or NaN; exponents are
// i32.
struct MantissaAndExponent {
  Tensor mantissa, exponent;
};
MantissaAndExponent frexp(const Operand& x);
Tensor ldexp(const Operand& x, const Operand& exponent);  // x · 2^exponent, rounded once

Tensor fmod(const Operand& a, const Operand& b);       // has the sign of a; integers by 0 give 0
Tensor frac(const Operand& x);                         // what trunc leaves
Tensor nextafter(const Operand& x, const Operand& y);  // the next number towards y
Tensor signbit(const Operand& x);                      // also of −0 and of NaN

// What stands in for NaN, ∞ and −∞; the greatest and least numbers of the dtype where not given.
struct NanReplacements {
  double nan = 0;
  std::optional<double> positive_infinity = {}, negative_infinity = {};
};
Tensor nan_to_num(const Tensor& x, const NanReplacements& replacements = {});

// From start to end by weight: both ends are met exactly.
Tensor lerp(const Operand& start, const Operand& end, const Operand& weight);
Tensor addcmul(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale = 1);
Tensor addcdiv(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale = 1);

// |a − b| ≤ atol + rtol |b|; an infinity is close to itself alone.
struct Closeness {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
Tensor isclose(const Operand& a, const Operand& b, const Closeness& closeness = {});
Tensor allclose(const Operand& a, const Operand& b, const Closeness& closeness = {});
Tensor array_equal(const Tensor& a, const Tensor& b);  // false where the sizes differ

void register_special_ops();
void register_special_functions();

}  // namespace plait
