// Distances between vectors.
#pragma once

#include <cstdint>

#include "plait/tensor/tensor.h"

namespace plait::nn {

// The cosine of the angle between vectors along a dimension.
struct CosineSimilarity {
  int64_t dim = 1;
  double eps = 1e-8;  // lower bound of the norms

  Tensor operator()(const Tensor& a, const Tensor& b) const;
};

// The p-norm of a − b + eps along the last dimension.
struct PairwiseDistance {
  double p = 2;
  double eps = 1e-6;
  bool keepdim = false;

  Tensor operator()(const Tensor& a, const Tensor& b) const;
};

}  // namespace plait::nn
