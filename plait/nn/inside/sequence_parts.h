// Helpers of layers for sequences.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::nn {

inline constexpr int64_t kMostLayers = 65'536;  // layers of a stack

// ValueError unless least ≤ value ≤ most.
void expect_whole(std::string_view name, int64_t value, int64_t least = 0,
                  int64_t most = std::numeric_limits<int64_t>::max());
void expect_probability(std::string_view name, double value);  // ValueError unless 0 to 1

// Dropout within a layer, in training only. Without a key, the next one of the default stream is
// drawn.
struct Drop {
  double p = 0;
  bool training = true;

  bool is_active() const { return training && p > 0; }
  Tensor operator()(const Tensor& x, const Tensor& key = {}) const;
  // As many keys as needed, all empty if nothing is dropped.
  std::vector<Tensor> keys(const Tensor& key, int64_t count) const;
};

}  // namespace plait::nn
