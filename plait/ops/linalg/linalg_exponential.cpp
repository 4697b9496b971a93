// e^A by scaling and squaring with Padé approximants, and its derivative.
//
// Al-Mohy and Higham, "A new scaling and squaring algorithm for the matrix exponential" (2009), and
// "Computing the Fréchet derivative of the matrix exponential" (2009): the derivative is computed
// by applying all steps to the dual number A + ε E with ε² = 0.
#include <algorithm>
#include <cmath>
#include <vector>

#include "plait/ops/inside/linalg/linalg_routines.h"

namespace plait {
namespace {

// Degrees of approximants, and the largest norm of A for which each is accurate, also for the
// derivative.
struct Approximant {
  int degree;
  double most;
};
constexpr Approximant kThird = {3, 1.08e-2}, kFifth = {5, 2.00e-1}, kSeventh = {7, 7.83e-1},
                      kNinth = {9, 1.78}, kThirteenth = {13, 4.74};
constexpr double kLeastError = 0x1p-53;

// A matrix with its tangent, which is empty if not needed.
template <class T>
struct Moving {
  std::vector<T> value, slope;
};

template <class T>
T times_power_of_two(T x, int exponent) {
  if constexpr (kIsRealNumber<T>) {
    return std::ldexp(x, exponent);
  } else {
    return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
  }
}
template <class T>
void scale(Moving<T>& x, int exponent) {
  if (exponent == 0) return;
  for (auto* part : {&x.value, &x.slope}) {
    for (T& each : *part) each = times_power_of_two(each, exponent);
  }
}

template <class T>
class Exponential {
 public:
  Exponential(const MatrixRoutines<T>& routines, int64_t n) : routines_(routines), n_(n) {}

  Moving<T> of(Moving<T> a) {
    const bool has_slope = !a.slope.empty();
    if (n_ == 1) {
      a.value[0] = std::exp(a.value[0]);
      if (has_slope) a.slope[0] *= a.value[0];
      return a;
    }
    exponent_ = exponent_of(a.value);
    scale(a, -exponent_);
    norm_ = norm_of_columns(a.value.data(), n_);
    const double norm = std::ldexp(norm_, exponent_);
    powers_ = {std::move(a)};
    for (const auto& [degree, most] : {kThird, kFifth}) {
      add_power();
      if (norm <= most) return approximant(degree, exponent_);
    }
    add_power();
    const double size = has_slope ? norm : std::ldexp(size_of_powers(), exponent_);
    for (const auto& [degree, most] : {kSeventh, kNinth}) {
      if (size > most || further_halvings(degree, 0) > 0) continue;
      if (degree == kNinth.degree) add_power();
      return approximant(degree, exponent_);
    }
    int halvings = std::max(0, static_cast<int>(std::ceil(std::log2(size / kThirteenth.most))));
    halvings += further_halvings(kThirteenth.degree, halvings);
    Moving<T> result = approximant(kThirteenth.degree, exponent_ - halvings);
    for (int i = 0; i < halvings; ++i) result = product(result, result);
    return result;
  }

 private:
  // The exponent of a power of two that is at least 1 and an upper bound of the norm of A.
  int exponent_of(const std::vector<T>& a) const {
    double greatest = 0;
    for (const T& x : a) {
      greatest = std::max({greatest, std::abs(std::real(x)), std::abs(std::imag(x))});
    }
    if (greatest == 0) return 0;
    return std::max(0, std::ilogb(greatest) + 2 + static_cast<int>(std::ceil(std::log2(n_))));
  }

  // powers_[k] is A^2k, except that powers_[0] is A.
  void add_power() {
    powers_.push_back(product(powers_.back(), powers_[powers_.size() > 1 ? 1 : 0]));
  }

  // A bound for the even powers from the 4th on, often much smaller than the norm.
  double size_of_powers() const {
    return std::max(std::pow(norm_of_columns(powers_[2].value.data(), n_), 1. / 4),
                    std::pow(norm_of_columns(powers_[3].value.data(), n_), 1. / 6));
  }

  // Number of further halvings of A / 2^halvings that the approximant needs because it sums powers
  // of |A|, which may be much larger than those of A.
  int further_halvings(int degree, int halvings) const {
    std::vector<double> sums(static_cast<size_t>(n_), 1);
    for (int k = 0; k < 2 * degree + 1; ++k) {
      std::vector<double> next(sums.size());
      for (size_t j = 0; j < next.size(); ++j) {
        for (size_t i = 0; i < next.size(); ++i) {
          next[j] += std::abs(powers_[0].value[i + j * next.size()]) * sums[i];
        }
      }
      sums = std::move(next);
    }
    // The leading coefficient of the truncation error is 1 / (binomial(2m, m) (2m + 1)!).
    const double m = degree;
    const double log_of_coefficient =
        2 * std::lgamma(m + 1) - std::lgamma(2 * m + 1) - std::lgamma(2 * m + 2);
    const double ratio = std::ranges::max(sums) / norm_;
    const double log_of_error = std::log2(ratio) + 2 * m * (exponent_ - halvings) +
                                log_of_coefficient / std::log(2.) - std::log2(kLeastError);
    return log_of_error > 0 ? static_cast<int>(std::ceil(log_of_error / (2 * m))) : 0;
  }

  // The approximant of A · 2^exponent: (V - U)⁻¹ (V + U), with the odd powers in U and the even
  // ones in V.
  Moving<T> approximant(int degree, int exponent) {
    for (size_t k = 0; k < powers_.size(); ++k) {
      scale(powers_[k], exponent * static_cast<int>(std::max<size_t>(1, 2 * k)));
    }
    std::vector<double> c = {1};
    for (int j = 0; j < degree; ++j) {
      c.push_back(c.back() * (degree - j) / ((2. * degree - j) * (j + 1)));
    }
    const auto combined = [&](size_t first, size_t count) {
      Moving<T> sum = zero();
      for (size_t k = 0; k < count; ++k) add(c[first + 2 * k], k, sum);
      return sum;
    };
    Moving<T> u, v;
    if (degree <= kNinth.degree) {
      u = combined(1, static_cast<size_t>(degree) / 2 + 1);
      v = combined(0, static_cast<size_t>(degree) / 2 + 1);
    } else {
      // Terms of the powers from the 6th on, as A⁶ times lower ones.
      const auto with_high = [&](size_t first) {
        Moving<T> high = zero();
        for (size_t k = 1; k <= 3; ++k) add(c[first + 6 + 2 * k], k, high);
        const Moving<T> above = product(powers_[3], high);
        Moving<T> sum = combined(first, 4);
        add(above, sum);
        return sum;
      };
      u = with_high(1);
      v = with_high(0);
    }
    u = product(powers_[0], u);
    return quotient(u, v);
  }

  Moving<T> zero() const {
    const auto count = static_cast<size_t>(n_ * n_);
    return {std::vector<T>(count), std::vector<T>(powers_[0].slope.empty() ? 0 : count)};
  }
  static void add(const Moving<T>& x, Moving<T>& sum, double factor = 1) {
    for (size_t i = 0; i < x.value.size(); ++i) sum.value[i] += factor * x.value[i];
    for (size_t i = 0; i < x.slope.size(); ++i) sum.slope[i] += factor * x.slope[i];
  }
  // Adds factor · A^2k, where A^0 is the identity.
  void add(double factor, size_t k, Moving<T>& sum) const {
    if (k > 0) return add(powers_[k], sum, factor);
    for (int64_t i = 0; i < n_; ++i) sum.value[static_cast<size_t>(i * (n_ + 1))] += factor;
  }

  void add_product(const std::vector<T>& a, const std::vector<T>& b, std::vector<T>& sum) const {
    routines_.add_product(a.data(), b.data(), sum.data(), n_, n_, n_);
  }
  Moving<T> product(const Moving<T>& a, const Moving<T>& b) const {
    Moving<T> c{std::vector<T>(a.value.size()), std::vector<T>(a.slope.size())};
    add_product(a.value, b.value, c.value);
    if (a.slope.empty()) return c;
    add_product(a.value, b.slope, c.slope);
    add_product(a.slope, b.value, c.slope);
    return c;
  }

  // X = (V - U)⁻¹ (V + U), where (V - U) Ẋ = V̇ + U̇ - (V̇ - U̇) X.
  Moving<T> quotient(const Moving<T>& u, const Moving<T>& v) const {
    Moving<T> above = v, below = v;
    add(u, above);
    add(u, below, -1);
    std::vector<int32_t> pivots(static_cast<size_t>(n_));
    routines_.lu(below.value.data(), n_, n_, pivots.data());
    solve(below.value, pivots, above.value);
    if (above.slope.empty()) return above;
    for (T& x : below.slope) x = -x;
    add_product(below.slope, above.value, above.slope);
    solve(below.value, pivots, above.slope);
    return above;
  }
  void solve(const std::vector<T>& lu, const std::vector<int32_t>& pivots,
             std::vector<T>& b) const {
    const Columns<T> x{b.data(), n_};
    for (int64_t i = 0; i < n_; ++i) {
      const int32_t other = pivots[static_cast<size_t>(i)];
      for (int64_t j = 0; j < n_ && other != i; ++j) std::swap(x(i, j), x(other, j));
    }
    routines_.triangular_solve(lu.data(), b.data(), n_, n_, true, true);
    routines_.triangular_solve(lu.data(), b.data(), n_, n_, false, false);
  }

  const MatrixRoutines<T>& routines_;
  int64_t n_;
  int exponent_ = 0;  // A is powers_[0] · 2^exponent_, until an approximant is computed
  double norm_ = 0;   // norm of powers_[0]
  std::vector<Moving<T>> powers_;
};

}  // namespace

template <class T>
void exponential(const MatrixRoutines<T>& routines, const T* a, const T* direction, T* result,
                 int64_t n) {
  Moving<T> moving{std::vector<T>(a, a + n * n), {}};
  if (direction != nullptr) moving.slope.assign(direction, direction + n * n);
  const Moving<T> found = Exponential<T>(routines, n).of(std::move(moving));
  std::ranges::copy(direction != nullptr ? found.slope : found.value, result);
}

template void exponential(const MatrixRoutines<double>&, const double*, const double*, double*,
                          int64_t);
template void exponential(const MatrixRoutines<std::complex<double>>&, const std::complex<double>*,
                          const std::complex<double>*, std::complex<double>*, int64_t);

}  // namespace plait
