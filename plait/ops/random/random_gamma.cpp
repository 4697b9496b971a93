// Gamma random numbers.
#include <cmath>
#include <limits>

#include "plait/ops/inside/random/random_attempts.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait {
namespace {

// Marsaglia and Tsang's method ("A simple method for generating gamma variables", 2000): for d = a
// - 1/3 and a normal number n, d (1 + t)³ with t = n / (3 √d) nearly has the distribution; at most
// one in twenty is rejected. For a < 1, a sample for a + 1 is multiplied by u^(1/a) with u uniform
// in (0, 1).
class GammaStream {
 public:
  explicit GammaStream(const KeyBits& key) : key_(key), power_key_(folded_key(key, kOfPower)) {}

  double draw(uint64_t element, double a, bool wants_log) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (!(a > 0)) {
      if (a != 0) return std::numeric_limits<double>::quiet_NaN();
      return wants_log ? -kInfinity : 0;
    }
    if (std::isinf(a)) return a;
    const bool is_small = a < 1;
    const double d = (is_small ? a + 1 : a) - 1. / 3;
    const double t = taken(element, d);
    const double log_power =
        is_small ? std::log(unit_above_zero(stream_word(power_key_, element))) / a : 0;
    if (wants_log) return std::log(d) + 3 * std::log1p(t) + log_power;
    const double x = d * (1 + t) * (1 + t) * (1 + t);
    return is_small ? x * std::exp(log_power) : x;
  }

 private:
  static constexpr uint64_t kOfPower = ~uint64_t{0};  // not used by any attempt

  // The first accepted t. Each round has two blocks: one with normal numbers, and one with the
  // numbers that decide about them.
  double taken(uint64_t element, double d) const {
    const double scale = 1 / (3 * std::sqrt(d));
    for (uint64_t round = 0;; ++round) {
      const KeyBits key = attempt_key(key_, round);
      const PhiloxBlock block = stream_block(key, 2 * element);
      const PhiloxBlock other = stream_block(key, 2 * element + 1);
      const auto [first, second] = normal_pair(first_word(block), second_word(block));
      if (is_taken(first, scale * first, d, unit_above_zero(first_word(other)))) {
        return scale * first;
      }
      if (is_taken(second, scale * second, d, unit_above_zero(second_word(other)))) {
        return scale * second;
      }
    }
  }

  static bool is_taken(double normal, double t, double d, double unit) {
    if (t <= -1) return false;
    const double square = normal * normal;
    if (unit < 1 - 0.0331 * square * square) return true;  // a cheap sufficient condition
    return std::log(unit) < log_density(square, t, d);
  }
  // log of the ratio of the density to that of the proposals.
  static double log_density(double square, double t, double d) {
    // For large d the exact formula would cancel; this is its series.
    if (d > 1e6) return -0.75 * d * t * t * t * t * (1 - t * (0.8 - t * 2 / 3));
    const double cube = (1 + t) * (1 + t) * (1 + t);
    return square / 2 + d * (1 - cube + 3 * std::log1p(t));
  }

  KeyBits key_, power_key_;
};

}  // namespace

void random_gamma_now(KernelCall& call, const void*) {
  const bool wants_log = call.attributes.as<RandomGammaAttributes>().log;
  const DType dtype = call.types[0].dtype;
  const Array parameters = call.operands[1].converted(DType::f64).contiguous();
  const auto a = parameters.elements<double>();
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t n, std::byte* out) {
    const GammaStream stream(key);
    const int64_t place = (out - call.results[0].data()) / size_of(dtype);
    for (int64_t i = 0; i < n; ++i) {
      const double x = stream.draw(static_cast<uint64_t>(first + i),
                                   a[static_cast<size_t>(place + i)], wants_log);
      store_element(dtype, Element::of(x), out + i * size_of(dtype));
    }
  });
}

}  // namespace plait
