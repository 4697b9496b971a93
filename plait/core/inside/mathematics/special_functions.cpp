#include "plait/core/inside/mathematics/special_functions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "plait/core/inside/mathematics/gamma_parts.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::special::shared {
#include "plait/core/inside/mathematics/zeta.inl"
}  // namespace plait::special::shared
#undef SHARED_TEXT

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

double log_gamma(double x) { return shared::log_gamma(x); }
double digamma(double x) { return shared::digamma(x); }
double polygamma(double n, double x) { return shared::polygamma(n, x); }
double zeta(double x, double q) { return shared::zeta(x, q); }

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
