// Functions of real numbers that the C library lacks, or has only with a global beside it.
//
// tests/oracles/special_functions_oracle.py holds zeta and those from scaled_erfc on against 40
// digits. They are within 1.5 units in the last place, the derivatives of beta_share within 8, and
// beta_share within 1e-14 where both shapes are near 1e9: from there on an expansion takes the
// place of a fraction. Most are computed in long double for that.
#pragma once

namespace plait::special {

double entropy(double x);                     // −x log x: 0 for x = 0, and −∞ below
double times_power_of_2(double x, double e);  // x · 2^e, e a whole number
double exponent(double x);  // for which x = m 2^e, ½ ≤ |m| < 1; 0 for 0, infinities and NaN

// The logarithm of the magnitude of the gamma function.
double log_gamma(double x);

// The derivative of log_gamma: NaN at the negative whole numbers, and infinite at 0 as at their
// limit from the side of its sign.
double digamma(double x);

// The n-th derivative of digamma, n a whole number: +∞ or −∞ at 0 and, for odd n, +∞ at the
// negative whole numbers, where there is none for even n: NaN, as for n < 0.
double polygamma(double n, double x);

// Σ_k 1 / (q + k)^x, k = 0, 1, …: +∞ for x = 1 and at q = 0, −1, −2, …; NaN for x < 1, and below
// 0 unless x is a whole number.
double zeta(double x, double q);

// The x whose erf is y; NaN beyond -1 and 1.
double erf_inverse(double y);

// e^(x²) erfc(x).
double scaled_erfc(double x);

// The share of the standard normal distribution below x, its logarithm, and the x below which a
// share of p lies; NaN beyond 0 and 1.
double normal_share(double x);
double log_normal_share(double x);
double normal_quantile(double p);

// The modified Bessel functions of the first kind of order 0 and 1; scaled: times e^−|x|.
double bessel_i0(double x);
double bessel_i1(double x);
double scaled_bessel_i0(double x);
double scaled_bessel_i1(double x);

// The share of the gamma distribution of shape a below x, and above x: ∫ t^(a−1) e^−t dt / Γ(a)
// from 0 to x, and from x to ∞. NaN below 0, for a = x = 0 and for a = x = ∞.
double gamma_share(double a, double x);
double gamma_rest(double a, double x);
double gamma_density(double a, double x);  // x^(a−1) e^−x / Γ(a)
// By a: of gamma_share, and of the x below which the same share lies.
double gamma_share_by_shape(double a, double x);
double gamma_quantile_by_shape(double a, double x);

// log |B(a, b)|, where B(a, b) = Γ(a) Γ(b) / Γ(a + b).
double log_beta(double a, double b);
// The share of the beta distribution of shapes a and b below x; NaN for x beyond 0 and 1, for
// shapes below 0 and for both 0 or both ∞.
double beta_share(double a, double b, double x);
// By a and by b of it; where both shapes are above 1e9 eight digits are right.
double beta_share_by_first(double a, double b, double x);
double beta_share_by_second(double a, double b, double x);
double beta_density(double a, double b, double x);  // x^(a−1) (1 − x)^(b−1) / B(a, b)

}  // namespace plait::special
