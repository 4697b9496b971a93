#include "plait/data/permutation.h"

#include <algorithm>
#include <bit>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/data/sample_key.h"
#include "plait/ops/inside/random/philox.h"

namespace plait::data {
namespace {

// With halves of two or three bits the orders of up to eight elements are not equally frequent, for
// any number of rounds: the functions of so few numbers generate too few permutations.
constexpr int kFewestBits = 8;

constexpr uint64_t mask_of(int bits) { return (uint64_t{1} << bits) - 1; }

}  // namespace

// The domain has more than `count` numbers: a network over all numbers of the domain is an even
// permutation, one that is restricted to some of them may be any.
Permutation::Permutation(int64_t count, const KeyBits& key) : count_(count) {
  if (count < 0) throw ValueError("Permutation: the count is {}, expected 0 or more", count);
  const auto bits = std::max<int>(kFewestBits, std::bit_width(static_cast<uint64_t>(count)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  for (size_t i = 0; i < kRounds; ++i) round_keys_[i] = stream_word(key, i);
}

Permutation::Permutation(int64_t count, const Tensor& key) : Permutation(count, bits_of(key)) {}

int64_t Permutation::operator()(int64_t index) const {
  if (index < 0 || index >= count_) {
    throw IndexError("Permutation: the index {} is out of range for {} elements", index, count_);
  }
  const uint64_t low_mask = mask_of(low_bits_), high_mask = mask_of(high_bits_);
  auto number = static_cast<uint64_t>(index);
  do {
    uint64_t low = number & low_mask, high = number >> low_bits_;
    for (size_t i = 0; i < kRounds; i += 2) {
      high ^= mix_bits(low ^ round_keys_[i]) & high_mask;
      low ^= mix_bits(high ^ round_keys_[i + 1]) & low_mask;
    }
    number = high << low_bits_ | low;
  } while (number >= static_cast<uint64_t>(count_));
  return static_cast<int64_t>(number);
}

}  // namespace plait::data
