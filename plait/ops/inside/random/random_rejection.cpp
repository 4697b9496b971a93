// Random integers, permutations and truncated normal numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "plait/core/error.h"
#include "plait/ops/inside/random/random_attempts.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait {
namespace {

// Standard normal numbers between two bounds, after Robert ("Simulation of truncated normal
// variables", 1995). The expected number of attempts is small for any bounds.
class TruncatedNormal {
 public:
  TruncatedNormal(double low, double high)
      : is_mirrored_(high <= 0),
        low_(is_mirrored_ ? -high : low),
        high_(is_mirrored_ ? -low : high),
        rate_((low_ + std::hypot(low_, 2.0)) / 2) {
    if (low_ < 0) {
      proposal_ = high_ - low_ > kRootOfTwoPi ? Proposal::normal : Proposal::uniform;
    } else {
      proposal_ = (high_ - low_) * rate_ > 1 ? Proposal::exponential : Proposal::uniform;
    }
  }

  double draw(const KeyBits& key, uint64_t element) const {
    for (uint64_t attempt = 0;; ++attempt) {
      const TwoUnits units(key, element, attempt);
      const double x = proposal(units);
      if (x >= low_ && x <= high_ && is_taken(x, units.second)) return is_mirrored_ ? -x : x;
    }
  }

 private:
  enum class Proposal { normal, uniform, exponential };
  static constexpr double kRootOfTwoPi = 2.5066282746310002;

  double proposal(const TwoUnits& units) const {
    switch (proposal_) {
      case Proposal::normal:
        return std::sqrt(-2 * std::log(units.first)) *
               std::cos(2 * std::numbers::pi * units.second);
      case Proposal::uniform: return low_ + (high_ - low_) * units.first;
      case Proposal::exponential: break;
    }
    return low_ - std::log(units.first) / rate_;
  }

  // Accepts with the ratio of the normal density to that of the proposals.
  bool is_taken(double x, double unit) const {
    switch (proposal_) {
      case Proposal::normal: return true;
      case Proposal::uniform: {
        const double nearest = std::max(low_, 0.0);
        return unit <= std::exp((nearest - x) * (nearest + x) / 2);
      }
      case Proposal::exponential: break;
    }
    return unit <= std::exp(-(x - rate_) * (x - rate_) / 2);
  }

  bool is_mirrored_;
  double low_, high_, rate_;
  Proposal proposal_ = Proposal::normal;
};

}  // namespace

int64_t integers_to_choose_from(const KernelCall& call) {
  const int64_t count = call.attributes.as<RandomIntegersAttributes>().count.number();
  if (count < 1) throw ValueError("random_integers: the count is {}, expected 1 or more", count);
  return count;
}

void random_integers_now(KernelCall& call, const void*) {
  const UniformIntegers even(static_cast<uint64_t>(integers_to_choose_from(call)));
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t n, std::byte* out) {
    std::array<uint64_t, kRandomPiece> own;
    stream_bytes(key, first * 8, n * 8, reinterpret_cast<std::byte*>(own.data()));
    even.draw_all(key, first, n, own.data(), reinterpret_cast<int64_t*>(out));
  });
}

// Fisher-Yates shuffle, with the words of the stream in order. Indices are computed kAhead steps in
// advance, so that the elements can be prefetched.
void random_permutation_now(KernelCall& call, const void*) {
  constexpr int64_t kAhead = 64;
  call.operands[0] = call.operands[0].contiguous();
  const int64_t count = call.types[0].sizes.back();
  call.results[0] = Array::empty(DType::i64, call.types[0].sizes);
  int64_t* places = call.results[0].writable_elements<int64_t>().data();
  for (const KeyBits& key : call.operands[0].elements<KeyBits>()) {
    for (int64_t i = 0; i < count; ++i) places[i] = i;
    StreamWords words(key);
    std::array<uint64_t, kAhead> others;
    for (int64_t i = count; i > 1;) {
      const int64_t some = std::min(kAhead, i - 1);
      for (int64_t k = 0; k < some; ++k) {
        uint64_t& other = others[static_cast<size_t>(k)];
        other = UniformIntegers(static_cast<uint64_t>(i - k)).draw([&] { return words.next(); });
        __builtin_prefetch(&places[other], 1);
      }
      for (int64_t k = 0; k < some; ++k, --i) {
        std::swap(places[i - 1], places[others[static_cast<size_t>(k)]]);
      }
    }
    places += count;
  }
}

void truncated_normal_now(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<TruncatedNormalAttributes>();
  const TruncatedNormal truncated(a.low, a.high);
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t n, std::byte* out) {
    for (int64_t i = 0; i < n; ++i) {
      const double x = truncated.draw(key, static_cast<uint64_t>(first + i));
      store_element(a.dtype, Element::of(x), out + i * size_of(a.dtype));
    }
  });
}

}  // namespace plait
