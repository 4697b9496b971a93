// What is drawn by trying until it fits. Each element tries for itself, so it does not matter who
// computes the others: attempt 0 takes the element's own bits of the key's stream, attempt a those
// of the stream of folded_key(key, a).
#pragma once

#include <cstdint>

#include "plait/ops/philox.h"

namespace plait {

constexpr KeyBits attempt_key(const KeyBits& key, uint64_t attempt) {
  return attempt == 0 ? key : folded_key(key, attempt);
}

// In (0, 1].
constexpr double unit_above_zero(uint64_t bits) {
  return static_cast<double>((bits >> 11) + 1) * 0x1p-53;
}

// Two such numbers for each attempt of an element.
struct TwoUnits {
  double first, second;

  TwoUnits(const KeyBits& key, uint64_t element, uint64_t attempt) {
    const PhiloxBlock block = stream_block(attempt_key(key, attempt), element);
    first = unit_above_zero(first_word(block));
    second = unit_above_zero(second_word(block));
  }
};

}  // namespace plait
