#include "plait/core/inside/mathematics/gamma_parts.h"

#include <array>
#include <cmath>
#include <utility>

#include "plait/core/inside/mathematics/special_functions.h"

namespace plait::special {

long double log1p_rest(long double u) {
  if (std::abs(u) > 0.4L) return std::log1p(u) - u;
  // log(1 + u) = 2 artanh r, and 2 r − u = −u r.
  const long double r = u / (2 + u), square = r * r;
  long double sum = 0;
  for (int k = 37; k >= 3; k -= 2) sum = sum * square + 1.0L / k;
  return 2 * r * square * sum - u * r;
}

long double log_gamma_of_one_and(long double a) {
  if (std::abs(a) > 0.25L) {
    int sign = 0;
    return ::lgammal_r(1 + a, &sign);
  }
  // log Γ(1 + a) = (1 − γ) a − log(1 + a) + Σ (ζ(k) − 1) (−a)^k / k, k = 2, 3, …
  static const auto kSeries = [] {
    std::array<long double, 22> series{};
    for (size_t i = 0; i < series.size(); ++i) {
      const auto k = static_cast<double>(i + 2);
      series[i] = zeta(k, 2) / k;
    }
    return series;
  }();
  constexpr long double kEuler = std::numbers::egamma_v<long double>;
  long double sum = 0;
  for (size_t i = kSeries.size(); i-- > 0;) sum = kSeries[i] - a * sum;
  return (1 - kEuler) * a - std::log1p(a) + a * a * sum;
}

long double stirling_rest(long double a) {
  constexpr std::array<long double, 8> kSeries = {1.0L / 12,    -1.0L / 360,      1.0L / 1260,
                                                  -1.0L / 1680, 1.0L / 1188,      -691.0L / 360360,
                                                  1.0L / 156,   -3617.0L / 122400};
  const long double square = 1 / (a * a);
  long double sum = 0;
  for (size_t i = kSeries.size(); i-- > 0;) sum = sum * square + kSeries[i];
  return sum / a;
}

long double log_beta_of_positive(long double a, long double b) {
  if (a > b) std::swap(a, b);
  if (b < kStirling) {
    return log_gamma_of_one_and(a) + log_gamma_of_one_and(b) - log_gamma_of_one_and(a + b) +
           std::log(1 / a + 1 / b);
  }
  // log Γ(b) − log Γ(a + b) with Stirling's series.
  const long double ratio = a / b;
  const long double fall = -a * std::log(a + b) - b * log1p_rest(ratio) + std::log1p(ratio) / 2 +
                           stirling_rest(b) - stirling_rest(a + b);
  if (a < kStirling) return log_gamma_of_one_and(a) - std::log(a) + fall;
  const long double half_of_log = std::log(2 * std::numbers::pi_v<long double>) / 2;
  return (a - 0.5L) * std::log(a) - a + half_of_log + stirling_rest(a) + fall;
}

// ln x - 1/(2x) - sum of B_2k / (2k x^2k), from where this is exact. In long double, since the
// terms cancel near the zero of the function.
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

}  // namespace plait::special
