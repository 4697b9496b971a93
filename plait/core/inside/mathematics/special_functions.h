// Special functions of real numbers that the C library lacks, or has only with a global variable
// (signgam).
//
// tests/oracles/special_functions_oracle.py compares zeta and the functions from scaled_erfc on
// with 40-digit values. The errors are at most 1.5 ulp; at most 8 ulp for the derivatives of
// betainc_value; and at most 1e-14 for betainc_value if both shapes are near 1e9, where an
// asymptotic expansion replaces the continued fraction. Most are computed in long double to reach
// this.
#pragma once

namespace plait::special {

double entropy(double x);                     // −x log x; 0 for x = 0, −∞ for x < 0
double log_1_minus_exp(double x);             // log(1 − e^−x); NaN for x < 0
double times_power_of_2(double x, double e);  // x · 2^e, e an integer
double exponent(double x);  // e of x = m 2^e, ½ ≤ |m| < 1; 0 for 0, infinities and NaN

// log |Γ(x)|.
double log_gamma(double x);

// The derivative of log_gamma: NaN at the negative integers; at ±0 the infinite limit from that
// side.
double digamma(double x);

// The n-th derivative of digamma for an integer n. +∞ or −∞ at 0; at the negative integers +∞ for
// odd n and NaN for even n, where it does not exist. NaN for n < 0.
double polygamma(double n, double x);

// The Hurwitz zeta function Σ_k 1 / (q + k)^x, k = 0, 1, …: +∞ for x = 1 and at q = 0, −1, −2, …;
// NaN for x < 1, and for q < 0 unless x is an integer.
double zeta(double x, double q);

// The inverse of erf; NaN outside of [-1, 1].
double erf_inverse(double y);

// e^(x²) erfc(x).
double scaled_erfc(double x);

// The standard normal distribution: its cumulative distribution function, the logarithm of that,
// and its quantile function (NaN for p outside of [0, 1]).
double normal_cdf(double x);
double log_normal_cdf(double x);
double normal_quantile(double p);

// The modified Bessel functions of the first kind of order 0 and 1. Scaled: multiplied by e^−|x|.
double bessel_i0(double x);
double bessel_i1(double x);
double scaled_bessel_i0(double x);
double scaled_bessel_i1(double x);

// The regularised incomplete gamma functions: P(a, x) = ∫₀^x t^(a−1) e^−t dt / Γ(a), and Q = 1 − P.
// NaN for negative arguments, for a = x = 0 and for a = x = ∞.
double gamma_p(double a, double x);
double gamma_q(double a, double x);
double gamma_density(double a, double x);  // x^(a−1) e^−x / Γ(a)
// Derivatives with respect to a: of P(a, x), and of the quantile x with P(a, x) fixed.
double gamma_p_da(double a, double x);
double gamma_quantile_da(double a, double x);

// log |B(a, b)| with B(a, b) = Γ(a) Γ(b) / Γ(a + b).
double log_beta(double a, double b);
// The regularised incomplete beta function I_x(a, b). NaN for x outside of [0, 1], for negative
// shapes, and if both are 0 or both ∞.
double betainc_value(double a, double b, double x);
// Its derivatives with respect to a and b; accurate to eight digits if both shapes exceed 1e9.
double betainc_da(double a, double b, double x);
double betainc_db(double a, double b, double x);
double beta_density(double a, double b, double x);  // x^(a−1) (1 − x)^(b−1) / B(a, b)

}  // namespace plait::special
