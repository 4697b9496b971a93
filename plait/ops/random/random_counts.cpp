// Poisson, binomial and multinomial numbers. Small means use inversion by sequential search; large
// ones use transformed rejection (Hörmann, "The transformed rejection method for generating Poisson
// random variables", 1993, and "The generation of binomial random variates", 1993).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/mathematics/gamma_functions.h"
#include "plait/core/system/thread_team.h"
#include "plait/ops/inside/random/random_attempts.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait {
namespace {

constexpr double kFew = 10;         // expected value below which inversion is used
constexpr double kMostOfFew = 200;  // practically never exceeded for an expected value of `kFew`

int64_t as_count(double number) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  return number < static_cast<double>(kMost) ? static_cast<int64_t>(number) : kMost;
}

// A hat function for both distributions, centred at the expected value, with a width proportional
// to the deviation.
struct Hat {
  double a, b, middle, certain;

  // The proposal for u uniform in (-1/2, 1/2), at a distance of `space` from the nearer end.
  double at(double u, double space) const { return std::floor((2 * a / space + b) * u + middle); }
  double slope(double space) const { return a / (space * space) + b; }

  // log_probability(k) and log(scale) may lack the same constant; -∞ for impossible values.
  template <class LogProbability>
  double draw(const KeyBits& key, uint64_t element, double scale,
              const LogProbability& log_probability) const {
    for (uint64_t attempt = 0;; ++attempt) {
      const TwoUnits units(key, element, attempt);
      const double u = units.first - 0.5, space = 0.5 - std::abs(u), v = units.second;
      if (space == 0) continue;
      const double k = at(u, space);
      if (space >= 0.07 && v <= certain) return k;
      if (k < 0) continue;
      if (std::log(v * scale / slope(space)) <= log_probability(k)) return k;
    }
  }
};

class Poisson {
 public:
  explicit Poisson(double rate) : rate_(rate) {
    if (!(rate >= 0) || std::isinf(rate))
      throw ValueError("a rate is {}, expected a finite number of 0 or more", rate);
    if (rate < kFew) {
      none_ = std::exp(-rate);
      return;
    }
    const double b = 0.931 + 2.53 * std::sqrt(rate);
    hat_ = {-0.059 + 0.02483 * b, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2)};
    scale_ = 1.1239 + 1.1328 / (b - 3.4);
  }

  int64_t draw(const KeyBits& key, uint64_t element) const {
    if (rate_ >= kFew) {
      return as_count(hat_.draw(key, element, scale_,
                                [&](double k) { return special::log_poisson(k, rate_); }));
    }
    double left = TwoUnits(key, element, 0).first, probability = none_, k = 0;
    while (left > probability && k < kMostOfFew) {
      left -= probability;
      probability *= rate_ / ++k;
    }
    return static_cast<int64_t>(k);
  }

 private:
  double rate_, none_ = 0, scale_ = 0;
  Hat hat_{};
};

class Binomial {
 public:
  Binomial(int64_t count, double p)
      : count_(count),
        is_mirrored_(p > 0.5),
        p_(is_mirrored_ ? 1 - p : p),
        failure_(is_mirrored_ ? p : 1 - p) {
    if (count < 0) throw ValueError("a number of trials is {}, expected 0 or more", count);
    if (!(p >= 0 && p <= 1)) throw ValueError("a probability is {}, expected 0 to 1", p);
    const auto n = static_cast<double>(count);
    if (n * p_ < kFew) {
      none_ = std::exp(n * std::log1p(-p_));
      return;
    }
    const double deviation = std::sqrt(n * p_ * failure_), b = 1.15 + 2.53 * deviation;
    hat_ = {-0.0873 + 0.0248 * b + 0.01 * p_, b, n * p_ + 0.5, 0.92 - 4.2 / b};
    most_ = special::log_binomial(std::floor((n + 1) * p_), n, p_, failure_);
    scale_ = (2.83 + 5.1 / b) * deviation;
  }

  int64_t draw(const KeyBits& key, uint64_t element) const {
    const auto n = static_cast<double>(count_);
    const int64_t drawn = n * p_ < kFew
                              ? few(TwoUnits(key, element, 0).first)
                              : as_count(hat_.draw(
                                    key, element, scale_,
                                    [&](double k) {
                                      if (k > n) return -std::numeric_limits<double>::infinity();
                                      return special::log_binomial(k, n, p_, failure_) - most_;
                                    }));
    const int64_t taken = std::min(drawn, count_);
    return is_mirrored_ ? count_ - taken : taken;
  }

 private:
  int64_t few(double left) const {
    const auto n = static_cast<double>(count_);
    double probability = none_, k = 0;
    for (; left > probability && k < std::min(n, kMostOfFew); ++k) {
      left -= probability;
      probability *= (n - k) / (k + 1) * (p_ / failure_);
    }
    return static_cast<int64_t>(k);
  }

  int64_t count_;
  bool is_mirrored_;
  double p_, failure_, none_ = 0, most_ = 0, scale_ = 0;
  Hat hat_{};
};

// Draws each element from the distribution make(place), which is reused while is_as_before(place).
template <class Distribution, class IsAsBefore, class Make>
void draw_counts(KernelCall& call, const IsAsBefore& is_as_before, const Make& make) {
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t n, std::byte* out) {
    auto* to = reinterpret_cast<int64_t*>(out);
    const auto place = static_cast<size_t>((out - call.results[0].data()) / 8);
    std::optional<Distribution> distribution;
    for (int64_t i = 0; i < n; ++i) {
      const size_t here = place + static_cast<size_t>(i);
      if (!distribution || !is_as_before(here)) distribution.emplace(make(here));
      to[i] = distribution->draw(key, static_cast<uint64_t>(first + i));
    }
  });
}

}  // namespace

void random_poisson_now(KernelCall& call, const void*) {
  const Array rates = call.operands[1].converted(DType::f64).contiguous();
  const auto rate = rates.elements<double>();
  draw_counts<Poisson>(
      call, [&](size_t i) { return rate[i] == rate[i - 1]; },
      [&](size_t i) { return Poisson(rate[i]); });
}

void random_binomial_now(KernelCall& call, const void*) {
  const Array counts = call.operands[1].contiguous();
  const Array probabilities = call.operands[2].converted(DType::f64).contiguous();
  const auto count = counts.elements<int64_t>();
  const auto p = probabilities.elements<double>();
  draw_counts<Binomial>(
      call, [&](size_t i) { return count[i] == count[i - 1] && p[i] == p[i - 1]; },
      [&](size_t i) { return Binomial(count[i], p[i]); });
}

// Draws the categories one after another: each is binomial, given the trials that remain.
void random_multinomial_now(KernelCall& call, const void*) {
  const Array keys = call.operands[0].contiguous(), counts = call.operands[1].contiguous();
  const Array weights = call.operands[2].converted(DType::f64).contiguous();
  const auto categories = static_cast<size_t>(call.types[0].sizes.back());
  call.results[0] = Array::empty(DType::i64, call.types[0].sizes);
  const int64_t rows = counts.element_count(), key_count = keys.element_count();
  if (rows == 0 || categories == 0) return;
  const auto key = keys.elements<KeyBits>();
  const auto count = counts.elements<int64_t>();
  const auto weight = weights.elements<double>();
  const auto out = call.results[0].writable_elements<int64_t>();
  const int64_t each = rows / key_count;
  const int64_t grain = std::max<int64_t>(1, 2048 / static_cast<int64_t>(categories));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> rest(categories);  // sum of the weights from each on
    for (int64_t row = begin; row < end; ++row) {
      const auto at = static_cast<size_t>(row) * categories;
      const auto own = weight.subspan(at, categories);
      for (const double w : own) {
        if (!(w >= 0) || std::isinf(w))
          throw ValueError("a weight is {}, expected a finite number of 0 or more", w);
      }
      std::partial_sum(own.rbegin(), own.rend(), rest.rbegin());
      int64_t left = count[static_cast<size_t>(row)];
      if (left < 0) throw ValueError("a number of trials is {}, expected 0 or more", left);
      if (left > 0 && rest[0] == 0) throw ValueError("all weights are 0");
      for (size_t i = 0; i < categories; ++i) {
        const double p = rest[i] == 0 ? 0 : std::min(1., own[i] / rest[i]);
        const uint64_t element = static_cast<uint64_t>(row % each) * categories + i;
        const int64_t drawn = Binomial(left, p).draw(key[static_cast<size_t>(row / each)], element);
        out[at + i] = drawn;
        left -= drawn;
      }
    }
  });
}

}  // namespace plait
