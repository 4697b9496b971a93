// Random numbers of a transform, drawn one after another from a key.
#pragma once

#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

#include "plait/data/sample_key.h"

namespace plait::data::transforms {

// The random key with which a transform is called: a tensor (random::key), or its bits.
class DrawKey {
 public:
  DrawKey(const Tensor& key) : bits_(bits_of(key)) {}  // NOLINT: the same thing
  DrawKey(const KeyBits& bits) : bits_(bits) {}        // NOLINT: likewise

  const KeyBits& bits() const { return bits_; }
  // A key of its own for each part of a transform.
  DrawKey part(int64_t number) const { return fold_in(bits_, number); }

 private:
  KeyBits bits_;
};

class Draws {
 public:
  explicit Draws(const DrawKey& key) : key_(key.bits()) {}

  double uniform();  // 0 ≤ x < 1
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double p) { return uniform() < p; }
  int64_t below(int64_t count);  // 0 to count - 1
  double normal();
  double gamma(double shape);  // with scale 1
  double beta(double a, double b);
  std::vector<double> dirichlet(size_t count, double alpha);
  std::vector<int64_t> permutation(int64_t count);
  // An index, with a probability proportional to its weight.
  size_t index(std::span<const double> weights);

 private:
  KeyBits key_;
  uint64_t next_ = 0;
};

}  // namespace plait::data::transforms
