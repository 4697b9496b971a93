// Random choices of BPE's dropout, drawn one after another from a key.
#pragma once

#include "plait/core/numbers/element.h"
#include "plait/ops/inside/random/philox.h"

namespace plait::text {

class DropoutDraws {
 public:
  explicit DropoutDraws(const KeyBits& key) : key_(key) {}

  // True with this probability.
  bool chance(float p) {
    constexpr int kUnused = 40;
    constexpr float kUnit = 1.0f / (1 << 24);
    return static_cast<float>(stream_word(key_, next_++) >> kUnused) * kUnit < p;
  }

 private:
  KeyBits key_;
  uint64_t next_ = 0;
};

}  // namespace plait::text
