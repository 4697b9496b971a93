// Functions based on the error function.
#include <cmath>
#include <numbers>

#include "plait/core/inside/mathematics/gamma_parts.h"
#include "plait/core/inside/mathematics/special_functions.h"

namespace plait::special {
namespace {

constexpr long double kHalfRoot = std::numbers::sqrt2_v<long double> / 2;
constexpr long double kInverseRootPi = std::numbers::inv_sqrtpi_v<long double>;

long double wide_scaled_erfc(long double x) {
  if (!(x > 8)) return std::exp(x * x) * std::erfc(x);
  // Asymptotic series Σ (−1)^k (2k − 1)!! / (2 x²)^k.
  const long double step = 1 / (2 * x * x);
  long double sum = 1, term = 1;
  for (int k = 1; std::abs(term) > 1e-20L; ++k) {
    term *= -step * static_cast<long double>(2 * k - 1);
    sum += term;
  }
  return sum * kInverseRootPi / x;
}

long double wide_share(long double x) { return std::erfc(-x * kHalfRoot) / 2; }

// Hastings' approximation, with an error below 5e-4.
long double quantile_guess(long double tail) {
  const long double t = std::sqrt(-2 * std::log(tail));
  return (2.515517L + t * (0.802853L + t * 0.010328L)) /
             (1 + t * (1.432788L + t * (0.189269L + t * 0.001308L))) -
         t;
}

}  // namespace

double scaled_erfc(double x) { return static_cast<double>(wide_scaled_erfc(x)); }

double normal_cdf(double x) { return static_cast<double>(wide_share(x)); }

double log_normal_cdf(double x) {
  if (x > 0) return static_cast<double>(std::log1p(-wide_share(-x)));
  if (!(x < -5)) return static_cast<double>(std::log(wide_share(x)));
  const long double wide = x;
  return static_cast<double>(std::log(wide_scaled_erfc(-wide * kHalfRoot) / 2) - wide * wide / 2);
}

double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
  const long double centre = p - 0.5L, tail = p < 0.5 ? p : 1 - static_cast<long double>(p);
  if (centre == 0) return 0;
  long double x = quantile_guess(tail);
  // Halley's method triples the correct digits. Near the centre, the distance from it is exact.
  for (int i = 0; i < 3; ++i) {
    const long double excess =
        tail > 0.2L ? std::erf(x * kHalfRoot) / 2 + std::abs(centre) : wide_share(x) - tail;
    const long double step = excess / (kInverseRootPi * kHalfRoot * std::exp(-x * x / 2));
    x -= step / (1 + x * step / 2);
  }
  return static_cast<double>(p < 0.5 ? x : -x);
}

}  // namespace plait::special
