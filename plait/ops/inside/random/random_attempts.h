// Rejection sampling. Each element makes its own attempts, independently of the others
// (random_units.inl).
#pragma once

#include <cstdint>

#include "plait/ops/inside/random/philox.h"
#include "plait/ops/inside/random/random_names.h"

namespace plait {

using draws::TwoUnits;

// The 64-bit words of a key's stream, in order.
class StreamWords {
 public:
  explicit StreamWords(const KeyBits& key) : key_(key) {}

  uint64_t next() {
    if (taken_ % 2 == 0) block_ = stream_block(key_, taken_ / 2);
    return taken_++ % 2 == 0 ? first_word(block_) : second_word(block_);
  }

 private:
  KeyBits key_;
  uint64_t taken_ = 0;
  PhiloxBlock block_ = {};
};

// Lemire's method ("Fast random integer generation in an interval", 2019): the upper half of bits ·
// count. It rejects the first 2^64 mod count values of the lower half, which would bias the result.
class UniformIntegers {
 public:
  explicit UniformIntegers(uint64_t count) : count_(count) {}

  // next() returns 64 random bits.
  template <class Next>
  uint64_t draw(Next next) const {
    __extension__ using Wide = unsigned __int128;
    while (true) {
      const Wide product = static_cast<Wide>(next()) * count_;
      const auto low = static_cast<uint64_t>(product);
      // The remainder is less than count, so it is rarely computed.
      if (low >= count_ || low >= (0 - count_) % count_)
        return static_cast<uint64_t>(product >> 64);
    }
  }

  // For the elements from `first` on; `own` holds their words of the key's stream.
  void draw_all(const KeyBits& key, int64_t first, int64_t n, const uint64_t* own,
                int64_t* out) const {
    for (int64_t i = 0; i < n; ++i) {
      uint64_t attempt = 0;
      out[i] = static_cast<int64_t>(draw([&] {
        const uint64_t number = attempt++;
        if (number == 0) return own[i];
        return stream_word(folded_key(key, number), static_cast<uint64_t>(first + i));
      }));
    }
  }

 private:
  uint64_t count_;
};

}  // namespace plait
