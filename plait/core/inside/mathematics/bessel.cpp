// The modified Bessel functions of the first kind.
#include <cmath>
#include <numbers>

#include "plait/core/inside/mathematics/special_functions.h"

namespace plait::special {
namespace {

constexpr double kFar = 20;  // from here on the asymptotic series is accurate enough

// Power series Σ (x/2)^(2k + order) / (k! (k + order)!); all terms are positive.
long double near_series(int order, long double x) {
  const long double square = x * x / 4;
  long double term = order == 0 ? 1 : x / 2, sum = term;
  for (int k = 1; term > sum * 1e-20L; ++k) {
    term *= square / (static_cast<long double>(k) * (k + order));
    sum += term;
  }
  return sum;
}

// Asymptotic series of e^−x √(2 π x) I(x) for large x.
long double far_series(int order, long double x) {
  long double term = 1, sum = 1;
  for (int k = 1; std::abs(term) > 1e-20L; ++k) {
    const int odd = 2 * k - 1;
    const long double next = term * (odd * odd - 4 * order) / (8 * k * x);
    if (std::abs(next) >= std::abs(term)) break;
    term = next;
    sum += term;
  }
  return sum;
}

// Scaled: multiplied by e^−|x|.
double bessel_i(int order, double x, bool is_scaled) {
  if (std::isnan(x)) return x;
  const long double size = std::abs(x);
  const double sign = order == 1 ? std::copysign(1.0, x) : 1.0;
  if (std::isinf(x)) return sign * (is_scaled ? 0 : static_cast<double>(size));
  long double value = 0;
  if (size < kFar) {
    value = near_series(order, size) * (is_scaled ? std::exp(-size) : 1);
  } else {
    const long double root = std::sqrt(2 * std::numbers::pi_v<long double> * size);
    value = far_series(order, size) / root * (is_scaled ? 1 : std::exp(size));
  }
  return sign * static_cast<double>(value);
}

}  // namespace

double bessel_i0(double x) { return bessel_i(0, x, false); }
double bessel_i1(double x) { return bessel_i(1, x, false); }
double scaled_bessel_i0(double x) { return bessel_i(0, x, true); }
double scaled_bessel_i1(double x) { return bessel_i(1, x, true); }

}  // namespace plait::special
