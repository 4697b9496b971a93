#include "plait/core/inside/mathematics/gamma_functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "plait/core/inside/mathematics/special_functions.h"

namespace plait::special {
namespace {

// ---- The derivative of the log quantile. With Q = 1 - P and L = log x,
//
//   dL/da = Q_a / (x^a e^-x / Γ(a)),
//
// and there are three forms of Q, none of which cancels where it is used. Each has the form x^a
// e^-x / Γ(a) · C, so that the derivative is C (L - ψ(a)) + C_a.

// A function of a and its derivative with respect to a.
struct Slope {
  double value = 0, slope = 0;
};
Slope operator+(Slope x, Slope y) { return {x.value + y.value, x.slope + y.slope}; }
Slope operator*(Slope x, Slope y) {
  return {x.value * y.value, x.slope * y.value + x.value * y.slope};
}
Slope operator/(Slope x, Slope y) {
  const double ratio = x.value / y.value;
  return {ratio, (x.slope - ratio * y.slope) / y.value};
}

constexpr double kExact = std::numeric_limits<double>::epsilon() / 4;

// P = x^a e^-x / Γ(a + 1) · (1 + x / (a + 1) + x² / ((a + 1) (a + 2)) + …).
double slope_by_series(double a, double log_x, double x) {
  Slope term{1, 0}, sum{1, 0};
  for (double n = 1; term.value > kExact * sum.value; ++n) {
    term = term * (Slope{x, 0} / Slope{a + n, 1});
    sum = sum + term;
  }
  return -(sum.value * (log_x - digamma(a + 1)) + sum.slope) / a;
}

// Continued fraction Q = x^a e^-x / Γ(a) / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5
// - a - …))), evaluated with Steed's method, which adds the change of each further level.
double slope_by_fraction(double a, double log_x, double x) {
  Slope divisor{x + 1 - a, -1};
  Slope ratio = Slope{1, 0} / divisor;  // ratio of a level's denominator to the next one
  Slope change = ratio, sum = ratio;
  for (double n = 1; n < 10000; ++n) {
    const Slope numerator{n * (a - n), n};
    divisor.value += 2;
    ratio = Slope{1, 0} / (divisor + numerator * ratio);
    change = change * (divisor * ratio + Slope{-1, 0});
    sum = sum + change;
    if (std::abs(change.value) <= kExact * std::abs(sum.value) &&
        std::abs(change.slope) <= kExact * std::abs(sum.slope)) {
      break;
    }
  }
  return sum.value * (log_x - digamma(a)) + sum.slope;
}

// The nodes and weights of Gauss-Legendre quadrature on [0, 1].
struct Quadrature {
  static constexpr int kPoints = 32;
  std::array<double, kPoints> points, weights;

  Quadrature() {
    for (int i = 0; i < kPoints; ++i) {
      double x = std::cos(std::numbers::pi * (i + 0.75) / (kPoints + 0.5)), derivative = 1;
      for (int step = 0; step < 6; ++step) {
        double before = 1, value = x;
        for (int n = 2; n <= kPoints; ++n) {
          const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
          before = value;
          value = next;
        }
        derivative = kPoints * (x * value - before) / (x * x - 1);
        x -= value / derivative;
      }
      points[static_cast<size_t>(i)] = (1 - x) / 2;
      weights[static_cast<size_t>(i)] = 1 / ((1 - x * x) * derivative * derivative);
    }
  }
};

// Γ(a, x) = x^a e^-x ∫ (1 + s)^(a - 1) e^(-x s) ds over s > 0; the lower incomplete function is the
// integral of (1 - s)^(a - 1) e^(x s) over 0 < s < 1. The integrand decays from s = 0. Everything
// is expressed with log(x / a), so that an error in it is an error of x, to which the derivative is
// hardly sensitive. For large a.
double slope_by_integral(double a, double log_ratio) {
  static const Quadrature kQuadrature;
  constexpr double kNothing = 38;  // e^-38
  const bool is_upper = log_ratio >= 0;
  const double sign = is_upper ? 1 : -1;
  // The exponent is -(fall s + (a - 1) (s - log(1 + s))); with opposite signs for the lower one.
  const double fall = sign * (a * std::expm1(log_ratio) + 1), curve = a - 1;
  const auto bend = [&](double s) { return sign * s - std::log1p(sign * s); };
  double end = 2 * kNothing / (fall + std::sqrt(fall * fall + 2 * kNothing * curve));
  for (int step = 0; step < 3; ++step) {
    const double drop = fall * end + curve * bend(end) - kNothing;
    end -= drop / (fall + curve * end / (1 + sign * end));
  }
  const double square = 1 / (a * a);
  const double log_less_digamma =
      1 / (2 * a) + square * (1. / 12 - square * (1. / 120 - square / 252));
  double sum = 0;
  for (size_t i = 0; i < Quadrature::kPoints; ++i) {
    const double s = end * kQuadrature.points[i], log = std::log1p(sign * s);
    const double weight = kQuadrature.weights[i] * std::exp(-fall * s - curve * (sign * s - log));
    sum += weight * (log_ratio + log_less_digamma + log);
  }
  return sign * sum * end;
}

// Temme ("Asymptotic inversion of incomplete gamma functions", 1992): √a (η + ε(η) / a) is a normal
// quantile, where η²/2 = m - log(1 + m) for m = x/a - 1 and ε = log(η/m) / η. The relative error is
// of order 1/a².
double slope_of_huge(double a, double log_ratio) {
  const double m = std::expm1(log_ratio);
  const double first = m == 0 ? 1 : log_ratio / m;
  const double bent = std::abs(m) < 0.01 ? -1. / 6 + m * (1. / 12 - m / 20)
                                         : (1 - (1 + m) * 2 * (m - log_ratio) / (m * m)) / (2 * m);
  return (first - bent / a) / a;
}

// ---- Probabilities, after Loader ("Fast and accurate computation of binomial probabilities",
// 2000), which avoids differences of large numbers.

// log n! - log(√(2πn) (n / e)^n) for whole n > 0.
double stirling_remainder(double n) {
  constexpr size_t kFew = 16;
  static const std::array<double, kFew> kOfFew = [] {
    constexpr double kHalfLogOfTwoPi = 0.91893853320467274178;
    std::array<double, kFew> of{};
    for (size_t i = 1; i < kFew; ++i) {
      const auto n = static_cast<double>(i);
      of[i] = log_gamma(n + 1) - (n + 0.5) * std::log(n) + n - kHalfLogOfTwoPi;
    }
    return of;
  }();
  if (n < kFew) return kOfFew[static_cast<size_t>(n)];
  const double square = 1 / (n * n);
  return (1. / 12 - square * (1. / 360 - square * (1. / 1260 - square / 1680))) / n;
}

// k log(k / m) + m - k.
double deviance(double k, double m) {
  if (!(std::abs(k - m) < 0.1 * (k + m))) return k * std::log(k / m) + m - k;
  const double v = (k - m) / (k + m);
  double sum = (k - m) * v, term = 2 * k * v;
  for (double n = 3; n < 100; n += 2) {
    term *= v * v;
    const double next = sum + term / n;
    if (next == sum) break;
    sum = next;
  }
  return sum;
}

}  // namespace

double log_gamma_quantile_da(double a, double log_x) {
  constexpr double kLargeParameter = 100, kHugeParameter = 1e6;
  if (std::isnan(log_x) || !(a >= 0)) return std::numeric_limits<double>::quiet_NaN();
  const double x = std::exp(log_x);
  if (std::isinf(x) || std::isinf(a)) return 0;
  if (a > kHugeParameter) return slope_of_huge(a, log_x - std::log(a));
  if (a >= kLargeParameter) return slope_by_integral(a, log_x - std::log(a));
  return x < std::max(1., a) ? slope_by_series(a, log_x, x) : slope_by_fraction(a, log_x, x);
}

double log_poisson(double k, double rate) {
  if (k == 0) return -rate;
  return -deviance(k, rate) - stirling_remainder(k) - std::log(2 * std::numbers::pi * k) / 2;
}

double log_binomial(double k, double n, double p, double failure) {
  if (k == 0) return n * std::log1p(-p);
  if (k == n) return n * std::log(p);
  const double rest = n - k;
  return stirling_remainder(n) - stirling_remainder(k) - stirling_remainder(rest) -
         deviance(k, n * p) - deviance(rest, n * failure) -
         std::log(2 * std::numbers::pi * k * (rest / n)) / 2;
}

}  // namespace plait::special
