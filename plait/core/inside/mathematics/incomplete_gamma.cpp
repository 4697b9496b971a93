// The regularised incomplete gamma functions and their derivatives with respect to the shape. For
// large shapes with x nearby: Temme's uniform asymptotic expansion; otherwise the power series, or
// the continued fraction for large x. The same code computes with numbers and with dual numbers.
#include <array>
#include <cmath>
#include <numbers>

#include "plait/core/inside/mathematics/dual.h"
#include "plait/core/inside/mathematics/gamma_parts.h"
#include "plait/core/inside/mathematics/special_functions.h"

namespace plait::special {
namespace {

// Power series Σ x^n / ((a + 1) … (a + n)): P is that times front.
template <class T>
T series(const T& a, long double x) {
  T term = 1.0L, sum = 1.0L;
  for (int n = 1; matters(term, sum); ++n) {
    term = term * (T(x) / (a + T(static_cast<long double>(n))));
    sum = sum + term;
  }
  return sum;
}

// Continued fraction 1 / (x + 1 − a − 1 (1 − a) / (x + 3 − a − 2 (2 − a) / (x + 5 − a − …))) for x
// > a, with Lentz's method: Q is that times a times front.
template <class T>
T fraction(const T& a, long double x) {
  T upper = T(x + 1) - a, lower = 0.0L, result = T(1.0L) / upper;
  for (int n = 1;; ++n) {
    const auto count = static_cast<long double>(n);
    const T factor = (a - T(count)) * T(count), part = T(x + 2 * count + 1) - a;
    lower = T(1.0L) / (part + factor * lower);
    upper = part + factor / upper;
    const T step = upper * lower;
    result = result / step;
    if (is_one(step)) return result;
  }
}

// x^a e^−x / Γ(a + 1).
long double front(long double a, long double x) {
  if (a < kStirling) return std::exp(a * std::log(x) - x - log_gamma_of_one_and(a));
  const long double u = (x - a) / a;
  const long double rest = u < -0.5L ? std::log(x / a) - u : log1p_rest(u);
  return std::exp(a * rest - stirling_rest(a)) / std::sqrt(2 * std::numbers::pi_v<long double> * a);
}

// ---- Temme's expansion: with η²/2 = x/a − 1 − log(x/a), Q is ½ erfc(η √(a/2)) + e^(−a η²/2) / √(2
// π a) Σ C_k(η) / a^k.

constexpr size_t kOrders = 9, kTerms = 24;

// C_0 = 1/μ − 1/η, C_k = C'_(k−1) / η + γ_k / μ, where μ = x/a − 1 and γ_k cancels the pole.
std::array<std::array<long double, kTerms>, kOrders> temme_coefficients() {
  constexpr size_t kAll = kTerms + 2 * kOrders;
  // The power series of μ in η, from μ μ' = η (1 + μ); then η / μ.
  std::array<long double, kAll + 2> mu{0, 1};
  for (size_t n = 2; n < mu.size(); ++n) {
    long double sum = mu[n - 1];
    for (size_t i = 2; i < n; ++i)
      sum -= mu[i] * static_cast<long double>(n + 1 - i) * mu[n + 1 - i];
    mu[n] = sum / static_cast<long double>(n + 1);
  }
  std::array<long double, kAll + 1> inverse{1};
  for (size_t n = 1; n < inverse.size(); ++n) {
    for (size_t i = 1; i <= n; ++i) inverse[n] -= mu[i + 1] * inverse[n - i];
  }
  std::array<long double, kAll> last{};
  for (size_t n = 0; n < kAll; ++n) last[n] = inverse[n + 1];
  std::array<std::array<long double, kTerms>, kOrders> result{};
  for (size_t k = 0; k < kOrders; ++k) {
    for (size_t n = 0; n < kTerms; ++n) result[k][n] = last[n];
    const long double pole = -last[1];
    for (size_t n = 0; n + 2 < kAll; ++n) {
      last[n] = static_cast<long double>(n + 2) * last[n + 2] + pole * inverse[n + 1];
    }
  }
  return result;
}

struct Temme {
  long double root;   // η √(a/2)
  long double eta;    // η
  long double front;  // e^(−a η²/2) / √(2 π a)
  Dual sum;           // Σ C_k / a^k, and its derivative by a for fixed x

  Temme(long double a, long double x) : sum(0) {
    static const auto kCoefficients = temme_coefficients();
    const long double u = (x - a) / a, half_square = -log1p_rest(u);
    eta = std::copysign(std::sqrt(2 * half_square), u);
    root = std::copysign(std::sqrt(a * half_square), u);
    front = std::exp(-a * half_square) / std::sqrt(2 * std::numbers::pi_v<long double> * a);
    // η η' = −u / a, where −u / η is near −1 at 0.
    const Dual moving_eta(eta, eta == 0 ? -1 / a : -u / (a * eta));
    const Dual inverse(1 / a, -1 / (a * a));
    for (size_t k = kOrders; k-- > 0;) {
      Dual polynomial(0);
      for (size_t n = kTerms; n-- > 0;) {
        polynomial = polynomial * moving_eta + Dual(kCoefficients[k][n]);
      }
      sum = sum * inverse + polynomial;
    }
  }
};

bool suits_temme(double a, double x) { return a > 64 && x > 0.6 * a && x < 1.6 * a; }

// ---- P and Q.

struct Shares {
  long double below, above;
};
Shares from_below(long double below) { return {below, 1 - below}; }
Shares from_above(long double above) { return {1 - above, above}; }

// For x < 1.5, where Q is small only if a is: Q = 1 − x^a / Γ(1 + a) − a x^a / Γ(1 + a) Σ (−x)^n /
// ((a + n) n!).
Shares near_zero(long double a, long double x) {
  const long double below = front(a, x) * series(a, x);
  if (below < 0.6L) return from_below(below);
  const long double power = a * std::log(x) - log_gamma_of_one_and(a);
  long double sum = 0, term = 1;
  for (int n = 1; std::abs(term) > 1e-22L; ++n) {
    term *= -x / static_cast<long double>(n);
    sum += term / (a + static_cast<long double>(n));
  }
  return {below, -std::expm1(power) - std::exp(power) * a * sum};
}

Shares shares(double a, double x) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) {
    return {kNan, kNan};
  }
  if (a == 0 || std::isinf(x)) return {1, 0};
  if (x == 0 || std::isinf(a)) return {0, 1};
  const long double wide = a;
  if (suits_temme(a, x)) {
    const Temme temme(a, x);
    const long double rest = temme.front * temme.sum.value;
    if (temme.root < 0) return from_below(std::erfc(-temme.root) / 2 - rest);
    return from_above(std::erfc(temme.root) / 2 + rest);
  }
  if (x < 1.5) return near_zero(wide, x);
  if (x <= a) return from_below(front(wide, x) * series(wide, static_cast<long double>(x)));
  return from_above(wide * front(wide, x) * fraction(wide, static_cast<long double>(x)));
}

// −(∂P/∂a) / density for finite a, x > 0. The sums do not cancel: no term is much larger than the
// result.
long double quantile_by_shape(double a, double x) {
  const long double wide = x, shape = a;
  if (suits_temme(a, x)) {
    const Temme temme(a, x);
    const long double log_ratio = std::log1p((wide - shape) / shape);
    const long double slope = (temme.eta == 0 ? 1 : log_ratio / temme.eta) +
                              (log_ratio - 1 / (2 * shape)) * temme.sum.value + temme.sum.slope;
    return slope * std::exp(stirling_rest(shape)) * wide / shape;
  }
  if (x < 1.5 || x <= a) {
    const Dual sum = series(Dual(shape, 1), wide);
    const long double power = std::log(wide) - digamma_of_positive(shape + 1);
    return -(sum.value * power + sum.slope) * wide / shape;
  }
  const Dual part = fraction(Dual(shape, 1), wide);
  return (part.value * (std::log(wide) - digamma_of_positive(shape)) + part.slope) * wide;
}

long double density(double a, double x) { return a * front(a, x) / x; }

}  // namespace

double gamma_p(double a, double x) { return static_cast<double>(shares(a, x).below); }
double gamma_q(double a, double x) { return static_cast<double>(shares(a, x).above); }

double gamma_density(double a, double x) {
  if (!(a >= 0 && x >= 0) || (std::isinf(a) && std::isinf(x))) return kNan;
  if (x == 0) return a < 1 ? kInfinity : a == 1 ? 1 : 0;
  if (a == 0 || std::isinf(a) || std::isinf(x)) return 0;
  return static_cast<double>(density(a, x));
}

double gamma_quantile_da(double a, double x) {
  if (!(a > 0 && x >= 0) || std::isinf(a)) return kNan;
  if (x == 0 || std::isinf(x)) return x;
  return static_cast<double>(quantile_by_shape(a, x));
}

double gamma_p_da(double a, double x) {
  if (!(a > 0 && x >= 0) || std::isinf(a)) return kNan;
  if (x == 0 || std::isinf(x)) return 0;
  return static_cast<double>(-quantile_by_shape(a, x) * density(a, x));
}

}  // namespace plait::special
