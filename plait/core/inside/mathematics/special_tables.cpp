#include "plait/core/inside/mathematics/special_tables.h"

#include <cmath>
#include <numbers>

#include "plait/core/inside/mathematics/shared_names.h"
#include "plait/core/inside/mathematics/special_functions.h"

namespace plait::special {
namespace {

// C_0 = 1/μ − 1/η, C_k = C'_(k−1) / η + γ_k / μ, where μ = x/a − 1 and γ_k cancels the pole.
TemmeCoefficients made_temme_coefficients() {
  constexpr size_t kOrders = std::tuple_size_v<TemmeCoefficients>;
  constexpr size_t kTerms = std::tuple_size_v<TemmeCoefficients::value_type>;
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
  TemmeCoefficients result{};
  for (size_t k = 0; k < kOrders; ++k) {
    for (size_t n = 0; n < kTerms; ++n) result[k][n] = last[n];
    const long double pole = -last[1];
    for (size_t n = 0; n + 2 < kAll; ++n) {
      last[n] = static_cast<long double>(n + 2) * last[n + 2] + pole * inverse[n + 1];
    }
  }
  return result;
}

Quadrature made_quadrature() {
  constexpr int kPoints = Quadrature::kPoints;
  Quadrature result;
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
    result.points[static_cast<size_t>(i)] = (1 - x) / 2;
    result.weights[static_cast<size_t>(i)] = 1 / ((1 - x * x) * derivative * derivative);
  }
  return result;
}

}  // namespace

const std::array<double, 22>& log_gamma_series() {
  static const auto kSeries = [] {
    std::array<double, 22> series{};
    for (size_t i = 0; i < series.size(); ++i) {
      const auto k = static_cast<double>(i + 2);
      series[i] = zeta(k, 2) / k;
    }
    return series;
  }();
  return kSeries;
}

const TemmeCoefficients& temme_coefficients() {
  static const TemmeCoefficients kCoefficients = made_temme_coefficients();
  return kCoefficients;
}

const Quadrature& quadrature() {
  static const Quadrature kQuadrature = made_quadrature();
  return kQuadrature;
}

const std::array<double, 16>& stirling_of_few() {
  static const auto kOfFew = [] {
    constexpr double kHalfLogOfTwoPi = 0.91893853320467274178;
    std::array<double, 16> of{};
    for (size_t i = 1; i < of.size(); ++i) {
      const auto n = static_cast<double>(i);
      of[i] = log_gamma(n + 1) - (n + 0.5) * std::log(n) + n - kHalfLogOfTwoPi;
    }
    return of;
  }();
  return kOfFew;
}

namespace shared {

double log_gamma_series(int i) { return special::log_gamma_series()[static_cast<size_t>(i)]; }
Part temme_coefficient(int order, int term) {
  return temme_coefficients()[static_cast<size_t>(order)][static_cast<size_t>(term)];
}
double quadrature_point(int i) { return quadrature().points[static_cast<size_t>(i)]; }
double quadrature_weight(int i) { return quadrature().weights[static_cast<size_t>(i)]; }
double stirling_of_few(int n) { return special::stirling_of_few()[static_cast<size_t>(n)]; }

}  // namespace shared
}  // namespace plait::special
