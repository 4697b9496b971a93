// Poisson, binomial and multinomial numbers (count_draws.inl).
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/mathematics/gamma_functions.h"
#include "plait/core/system/thread_team.h"
#include "plait/ops/inside/random/random_names.h"
#include "plait/ops/inside/random/random_primitives.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::draws {
using special::log_binomial;
using special::log_poisson;
#include "plait/ops/inside/random/count_draws.inl"
}  // namespace plait::draws
#undef SHARED_TEXT

namespace plait {
namespace {

using draws::Binomial;
using draws::Poisson;

[[noreturn]] void refuse(BadParameter parameter, int64_t bits) {
  throw ValueError("{}", text_of(parameter, bits));
}
[[noreturn]] void refuse(BadParameter parameter, double number) {
  refuse(parameter, std::bit_cast<int64_t>(number));
}

Poisson checked_poisson(double rate) {
  if (!draws::is_rate(rate)) refuse(BadParameter::rate, rate);
  return Poisson(rate);
}

Binomial checked_binomial(int64_t trials, double p) {
  if (trials < 0) refuse(BadParameter::trials, trials);
  if (!draws::is_probability(p)) refuse(BadParameter::probability, p);
  return Binomial(trials, p);
}

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

std::string text_of(BadParameter parameter, int64_t bits) {
  const auto number = std::bit_cast<double>(bits);
  switch (parameter) {
    case BadParameter::rate:
      return fmt::format("a rate is {}, expected a finite number of 0 or more", number);
    case BadParameter::trials:
      return fmt::format("a number of trials is {}, expected 0 or more", bits);
    case BadParameter::probability:
      return fmt::format("a probability is {}, expected 0 to 1", number);
    case BadParameter::weight:
      return fmt::format("a weight is {}, expected a finite number of 0 or more", number);
    case BadParameter::no_weight: break;
  }
  return "all weights are 0";
}

void random_poisson_now(KernelCall& call, const void*) {
  const Array rates = call.operands[1].converted(DType::f64).contiguous();
  const auto rate = rates.elements<double>();
  draw_counts<Poisson>(
      call, [&](size_t i) { return rate[i] == rate[i - 1]; },
      [&](size_t i) { return checked_poisson(rate[i]); });
}

void random_binomial_now(KernelCall& call, const void*) {
  const Array counts = call.operands[1].contiguous();
  const Array probabilities = call.operands[2].converted(DType::f64).contiguous();
  const auto count = counts.elements<int64_t>();
  const auto p = probabilities.elements<double>();
  draw_counts<Binomial>(
      call, [&](size_t i) { return count[i] == count[i - 1] && p[i] == p[i - 1]; },
      [&](size_t i) { return checked_binomial(count[i], p[i]); });
}

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
        if (!draws::is_rate(w)) refuse(BadParameter::weight, w);
      }
      std::partial_sum(own.rbegin(), own.rend(), rest.rbegin());
      const int64_t trials = count[static_cast<size_t>(row)];
      if (trials < 0) refuse(BadParameter::trials, trials);
      if (trials > 0 && rest[0] == 0) refuse(BadParameter::no_weight, 0.);
      draws::draw_categories(key[static_cast<size_t>(row / each)],
                             static_cast<uint64_t>(row % each) * categories, trials,
                             static_cast<int64_t>(categories), own.data(), rest.data(), &out[at]);
    }
  });
}

}  // namespace plait
