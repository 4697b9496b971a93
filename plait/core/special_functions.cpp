#include "plait/core/special_functions.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace plait::special {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ln x - 1/(2x) - sum of B_2k / (2k x^2k), from where that is exact. In long double, since the
// function is near 0 where its parts are not.
long double digamma_of_positive(long double x) {
  constexpr std::array<long double, 8> kSeries = {1.0L / 12,   -1.0L / 120,    1.0L / 252,
                                                  -1.0L / 240, 1.0L / 132,     -691.0L / 32760,
                                                  1.0L / 12,   -3617.0L / 8160};
  long double below = 0;
  for (; x < 16; x += 1) below += 1 / x;
  const long double square = 1 / (x * x);
  long double sum = 0;
  for (size_t i = kSeries.size(); i-- > 0;) sum = (sum + kSeries[i]) * square;
  return std::log(x) - 1 / (2 * x) - sum - below;
}

// Where the odd series of erf's inverse suffices as a start, or Winitzki's formula.
double erf_inverse_guess(double y) {
  constexpr double kA = 0.147;
  if (y < 0.5) return y * (1 + std::numbers::pi / 12 * y * y) / (2 * std::numbers::inv_sqrtpi);
  const double log = std::log((1 - y) * (1 + y));
  const double t = 2 / (std::numbers::pi * kA) + log / 2;
  return std::sqrt(std::sqrt(t * t - log / kA) - t);
}

// Σ_k 1 / (x + k)^s for s > 1 and x > 0: the first terms, then Euler's and Maclaurin's formula for
// the rest.
double hurwitz_zeta(double s, double x) {
  constexpr std::array<double, 8> kBernoulli = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                                5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  double sum = 0;
  for (const double far = 12 + s; x < far; x += 1) sum += std::pow(x, -s);
  if (x == kInfinity) return sum;
  sum += std::pow(x, 1 - s) / (s - 1) + std::pow(x, -s) / 2;
  double factor = s * std::pow(x, -s - 1);  // s (s + 1) … (s + 2k) x^(−s − 2k − 1)
  double factorial = 2;                     // (2k + 2)!
  for (size_t k = 0; k < kBernoulli.size(); ++k) {
    sum += kBernoulli[k] / factorial * factor;
    const double next = s + 2 * static_cast<double>(k) + 1;
    factor *= next * (next + 1) / (x * x);
    const double last = 2 * static_cast<double>(k) + 2;
    factorial *= (last + 1) * (last + 2);
  }
  return sum;
}

}  // namespace

double log_gamma(double x) {
  int sign = 0;  // std::lgamma keeps it in a global, which threads would share
  return ::lgamma_r(x, &sign);
}

double digamma(double x) {
  if (std::isnan(x) || x == kInfinity) return x;
  if (x == 0) return std::copysign(kInfinity, -x);
  if (x > 0) return static_cast<double>(digamma_of_positive(x));
  // psi(x) = psi(1 - x) - pi / tan(pi x), and tan has the period pi.
  const double whole = std::nearbyint(x);
  if (x == whole || std::isinf(x)) return kNan;
  constexpr long double kPi = std::numbers::pi_v<long double>;
  const long double angle = kPi * (static_cast<long double>(x) - whole);
  return static_cast<double>(digamma_of_positive(1 - static_cast<long double>(x)) -
                             kPi / std::tan(angle));
}

double polygamma(double n, double x) {
  if (n == 0) return digamma(x);
  if (!(n > 0) || n != std::floor(n) || std::isnan(x)) return kNan;
  const bool is_odd = std::fmod(n, 2) == 1;
  if (x == 0) return is_odd ? kInfinity : std::copysign(kInfinity, -x);
  if (x > 0) {
    const double size = std::exp(log_gamma(n + 1)) * hurwitz_zeta(n + 1, x);
    return is_odd ? size : -size;
  }
  const double whole = std::nearbyint(x);
  if (x == whole && is_odd && !std::isinf(x)) return kInfinity;
  if (n > 1 || std::isinf(x)) return kNan;
  // The derivative of ψ(x) = ψ(1 − x) − π / tan(π x).
  const double sine = std::sin(std::numbers::pi * (x - whole));
  const double root = std::numbers::pi / sine;
  return root * root - hurwitz_zeta(2, 1 - x);
}

double erf_inverse(double y) {
  const double size = std::abs(y);
  if (!(size <= 1)) return kNan;
  if (size == 1) return std::copysign(kInfinity, y);
  double x = erf_inverse_guess(size);
  // Halley's method trebles the digits. Where erf is next to 1, erfc is exact.
  for (int i = 0; i < 3 && size > 1e-9; ++i) {
    const double excess = size < 0.875 ? std::erf(x) - size : (1 - size) - std::erfc(x);
    const double step = excess / (2 * std::numbers::inv_sqrtpi * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}

}  // namespace plait::special
