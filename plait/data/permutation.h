// A random order of 0, 1, …, count - 1 without a table: each index is computed by itself.
#pragma once

#include <array>
#include <cstdint>

#include "plait/core/numbers/element.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

// A bijection of [0, count) that depends on a key: a Feistel network over the numbers of as many
// bits as `count` has, which is applied until the result is below `count` (cycle walking: Black and
// Rogaway, "Ciphers with arbitrary finite domains", 2002): twice on average, or less, unless there
// are less than 128 elements.
class Permutation {
 public:
  Permutation(int64_t count, const KeyBits& key);  // ValueError if the count is negative
  Permutation(int64_t count, const Tensor& key);

  int64_t size() const { return count_; }
  int64_t operator()(int64_t index) const;  // IndexError if the index is out of range

 private:
  static constexpr int kRounds = 12;

  int64_t count_;
  int low_bits_, high_bits_;
  std::array<uint64_t, kRounds> round_keys_;
};

}  // namespace plait::data
