#include "plait/core/inside/mathematics/special_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "plait/core/inside/mathematics/gamma_parts.h"

namespace plait::special {
namespace {

// Initial guess: the power series of erf⁻¹ for small y, else Winitzki's formula.
double erf_inverse_guess(double y) {
  constexpr double kA = 0.147;
  if (y < 0.5) return y * (1 + std::numbers::pi / 12 * y * y) / (2 * std::numbers::inv_sqrtpi);
  const double log = std::log((1 - y) * (1 + y));
  const double t = 2 / (std::numbers::pi * kA) + log / 2;
  return std::sqrt(std::sqrt(t * t - log / kA) - t);
}

// Hurwitz zeta Σ_k 1 / (x + k)^s for s > 1 and x > 0: the first terms, then the Euler-Maclaurin
// formula for the rest.
long double hurwitz_zeta(long double s, long double x) {
  constexpr std::array<long double, 8> kBernoulli = {1.0L / 6,   -1.0L / 30,    1.0L / 42,
                                                     -1.0L / 30, 5.0L / 66,     -691.0L / 2730,
                                                     7.0L / 6,   -3617.0L / 510};
  long double sum = 0;
  for (const long double far = 16 + s; x < far; x += 1) {
    const long double term = std::pow(x, -s);
    sum += term;
    // The rest is at most about term · far / (s − 1).
    if (!(term * far > 1e-19L * sum * (s - 1))) return sum;
  }
  if (std::isinf(x)) return 0;
  sum += std::pow(x, 1 - s) / (s - 1) + std::pow(x, -s) / 2;
  long double factor = s * std::pow(x, -s - 1);  // s (s + 1) … (s + 2k) x^(−s − 2k − 1)
  long double factorial = 2;                     // (2k + 2)!
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    sum += kBernoulli[k] / factorial * factor;
    const long double next = s + 2 * static_cast<long double>(k) + 1;
    factor *= next * (next + 1) / (x * x);
    const long double last = 2 * static_cast<long double>(k) + 2;
    factorial *= (last + 1) * (last + 2);
  }
  return sum;
}

// The same for an integer s and a non-integer x < 0: the terms below 0 are those of two other sums,
// with the sign (−1)^s.
long double zeta_below(double s, long double x) {
  const long double above = x - std::floor(x), below = std::ceil(x) - x;
  const long double sign = std::fmod(s, 2) == 1 ? -1 : 1;
  return (hurwitz_zeta(s, above) + sign * hurwitz_zeta(s, below)) - sign * hurwitz_zeta(s, 1 - x);
}

}  // namespace

double entropy(double x) {
  if (x > 0) return -x * std::log(x);
  return x < 0 ? -kInfinity : x;
}

double log_1_minus_exp(double x) {
  // The first loses digits where e^−x is small, the second where it is near 1; they change at ½.
  return x < std::numbers::ln2 ? std::log(-std::expm1(-x)) : std::log1p(-std::exp(-x));
}

double times_power_of_2(double x, double e) {
  if (std::isnan(e)) return e;
  return std::ldexp(x, static_cast<int>(std::clamp(e, -5000.0, 5000.0)));
}

double exponent(double x) {
  int result = 0;
  if (std::isfinite(x)) std::frexp(x, &result);
  return result;
}

double log_gamma(double x) {
  int sign = 0;  // std::lgamma stores it in a global, a data race between threads
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x > 0) return static_cast<double>(shared::digamma_of_positive(x));
  // psi(x) = psi(1 - x) - pi / tan(pi x), and tan has period pi.
  const double whole = std::nearbyint(x);
  if (x == whole || std::isinf(x)) return kNan;
  constexpr long double kPi = std::numbers::pi_v<long double>;
  const long double angle = kPi * (static_cast<long double>(x) - whole);
  return static_cast<double>(shared::digamma_of_positive(1 - static_cast<long double>(x)) -
                             kPi / std::tan(angle));
}

double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  if (!(n > 0) || n != std::floor(n) || std::isnan(x)) return kNan;
  const bool is_odd = std::fmod(n, 2) == 1;
  if (x == 0) return is_odd ? kInfinity : std::copysign(kInfinity, -x);
  if (x == -kInfinity) return kNan;
  if (x < 0 && x == std::floor(x)) return is_odd ? kInfinity : kNan;
  const long double sum = x > 0 ? hurwitz_zeta(n + 1, x) : zeta_below(n + 1, x);
  const auto size = static_cast<double>(std::exp(shared::log_gamma_of_one_and(n)) * sum);
  return is_odd ? size : -size;
}

double zeta(double x, double q) {
  if (std::isnan(q) || !(x >= 1)) return kNan;
  if (x == 1) return kInfinity;
  if (q > 0) return static_cast<double>(hurwitz_zeta(x, q));
  if (q == std::floor(q)) return kInfinity;
  if (x != std::floor(x)) return kNan;
  return static_cast<double>(zeta_below(x, q));
}

double erf_inverse(double y) {
  const double size = std::abs(y);
  if (!(size <= 1)) return kNan;
  if (size == 1) return std::copysign(kInfinity, y);
  double x = erf_inverse_guess(size);
  // Halley's method triples the correct digits. Near 1, erfc is more accurate than erf.
  for (int i = 0; i < 3 && size > 1e-9; ++i) {
    const double excess = size < 0.875 ? std::erf(x) - size : (1 - size) - std::erfc(x);
    const double step = excess / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}

}  // namespace plait::special
