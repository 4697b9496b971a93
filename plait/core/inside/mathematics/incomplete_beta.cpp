// The regularised incomplete beta function and its derivatives.
#include <cmath>
#include <initializer_list>
#include <numbers>

#include "plait/core/inside/mathematics/dual.h"
#include "plait/core/inside/mathematics/gamma_parts.h"
#include "plait/core/inside/mathematics/special_functions.h"

namespace plait::special {
namespace {

// The shapes, x and 1 − x.
struct Beta {
  long double a, b, x, y;

  bool are_large() const { return a >= kStirling && b >= kStirling; }
  // The distance of x from a / (a + b), where x^a y^b is greatest, times a + b.
  long double excess() const { return x * b - y * a; }
  // The logarithm of x^a y^b divided by its maximum.
  long double log_power() const {
    const auto rest = [](long double u, long double ratio) {
      return u < -0.5L ? std::log(ratio) - u : log1p_rest(u);
    };
    return a * rest(excess() / a, x * (a + b) / a) + b * rest(-excess() / b, y * (a + b) / b);
  }
  // √(a b / (2 π (a + b))).
  long double root() const {
    return std::sqrt(a / (a + b) * b / (2 * std::numbers::pi_v<long double>));
  }
  // x^a y^b / B(a, b).
  long double front() const {
    if (are_large()) {
      return std::exp(log_power() + stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b)) *
             root();
    }
    const long double log_x = x > 0.5L ? std::log1p(-y) : std::log(x);
    const long double log_y = y > 0.5L ? std::log1p(-x) : std::log(y);
    return std::exp(a * log_x + b * log_y - log_beta_of_positive(a, b));
  }
};

// For large shapes: ½ erfc(−s), where −s² is log_power(), plus e^(−s²) times a correction that
// makes the derivative exact up to a relative error of order 1 / (a + b).
long double share_of_large(const Beta& beta) {
  const long double excess = beta.excess(), log_power = beta.log_power();
  const long double s = std::copysign(std::sqrt(-log_power), excess);
  const long double root_pi = 1 / std::numbers::inv_sqrtpi_v<long double>;
  const long double a = beta.a, b = beta.b;
  const long double rest = std::abs(s) < 1e-6L
                               ? (b - a) / (a + b) / (beta.root() * root_pi * root_pi * 6)
                               : 1 / (2 * root_pi * s) - beta.root() / excess;
  return std::erfc(-s) / 2 + std::exp(log_power) * rest;
}

// Continued fraction 1 / (1 + d_1 / (1 + d_2 / (1 + …))) for x below (a + 1) / (a + b + 2), with
// Lentz's method: I_x(a, b) is that times front / a.
template <class T>
T beta_fraction(const T& a, const T& b, long double x) {
  T upper = 1.0L, lower = 0.0L, result = 1.0L;
  for (int m = 0;; ++m) {
    const T k = static_cast<long double>(m), next = k + T(1.0L), both = a + k + k;
    const T odd = T(-x) * (a + k) / both * ((a + b + k) / (both + T(1.0L)));
    const T even = T(x) * next / (both + T(1.0L)) * ((b - next) / (both + T(2.0L)));
    T step = 1.0L;
    for (const T& d : {odd, even}) {
      lower = T(1.0L) / (T(1.0L) + d * lower);
      upper = T(1.0L) + d / upper;
      step = step * upper * lower;
    }
    result = result / step;
    if (is_one(step)) return result;
  }
}

constexpr double kHuge = 1e9;  // where the continued fraction takes tens of thousands of steps
bool is_huge(double a, double b) { return a > kHuge && b > kHuge; }

bool is_low(const Beta& beta) { return beta.x < (beta.a + 1) / (beta.a + beta.b + 2); }

// ∂I/∂a. The sums do not cancel: no term is much larger than the result.
long double share_by_first(const Beta& beta) {
  const long double a = beta.a, b = beta.b,
                    log_x = beta.x > 0.5L ? std::log1p(-beta.y) : std::log(beta.x);
  const long double power = log_x - digamma_of_positive(a) + digamma_of_positive(a + b);
  if (is_low(beta)) {
    const Dual part = beta_fraction(Dual(a, 1), Dual(b), beta.x);
    return beta.front() / a * (part.value * (power - 1 / a) + part.slope);
  }
  const Dual part = beta_fraction(Dual(b), Dual(a, 1), beta.y);
  return -beta.front() / b * (part.value * power + part.slope);
}

// For large shapes: moves the quantile as if x were normally distributed.
long double share_by_first_of_large(const Beta& beta) {
  const long double a = beta.a, sum = beta.a + beta.b;
  const long double from_mean = beta.excess() / sum;
  const long double move = beta.b / sum / sum + from_mean * (1 / a - 3 / sum) / 2;
  return -beta.front() / (beta.x * beta.y) * move;
}

double share_by_first(double a, double b, const Beta& beta) {
  const bool is_none =
      !(a > 0 && b > 0 && beta.x >= 0 && beta.x <= 1) || std::isinf(a) || std::isinf(b);
  if (is_none) return kNan;
  if (beta.x == 0 || beta.y == 0) return 0;
  return static_cast<double>(is_huge(a, b) ? share_by_first_of_large(beta) : share_by_first(beta));
}

}  // namespace

double log_beta(double a, double b) {
  if (a > 0 && b > 0) {
    if (std::isinf(a) || std::isinf(b)) return -kInfinity;
    return static_cast<double>(log_beta_of_positive(a, b));
  }
  if (a >= 0 && b >= 0) return kInfinity;
  return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
}

double betainc_value(double a, double b, double x) {
  const bool is_none = !(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) ||
                       (std::isinf(a) && std::isinf(b));
  if (is_none) return kNan;
  if (x == 0 || x == 1) return x;
  if (a == 0 || std::isinf(b)) return 1;
  if (b == 0 || std::isinf(a)) return 0;
  const Beta beta{a, b, x, 1 - static_cast<long double>(x)};
  if (is_huge(a, b)) return static_cast<double>(share_of_large(beta));
  if (is_low(beta)) {
    return static_cast<double>(beta.front() / beta.a * beta_fraction(beta.a, beta.b, beta.x));
  }
  return static_cast<double>(1 - beta.front() / beta.b * beta_fraction(beta.b, beta.a, beta.y));
}

double betainc_da(double a, double b, double x) {
  return share_by_first(a, b, {a, b, x, 1 - static_cast<long double>(x)});
}
double betainc_db(double a, double b, double x) {
  return -share_by_first(b, a, {b, a, 1 - static_cast<long double>(x), x});
}

double beta_density(double a, double b, double x) {
  const bool is_none = !(a > 0 && b > 0 && x >= 0 && x <= 1) || std::isinf(a) || std::isinf(b);
  if (is_none) return kNan;
  if (x == 0) return a < 1 ? kInfinity : a == 1 ? b : 0;
  if (x == 1) return b < 1 ? kInfinity : b == 1 ? a : 0;
  const Beta beta{a, b, x, 1 - static_cast<long double>(x)};
  return static_cast<double>(beta.front() / (beta.x * beta.y));
}

}  // namespace plait::special
