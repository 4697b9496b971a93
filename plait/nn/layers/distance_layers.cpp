#include "plait/nn/layers/distance_layers.h"

#include "plait/ops/neural/loss.h"

namespace plait::nn {

Tensor CosineSimilarity::operator()(const Tensor& a, const Tensor& b) const {
  return cosine_similarity(a, b, dim, eps);
}

Tensor PairwiseDistance::operator()(const Tensor& a, const Tensor& b) const {
  return pairwise_distance(a, b, p, eps, keepdim);
}

}  // namespace plait::nn
