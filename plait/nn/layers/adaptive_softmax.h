// Softmax over many classes, the rare ones in clusters (Grave et al., 2017).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "plait/nn/layers/linear_layers.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct AdaptiveLoss {
  Tensor output;  // the log-probability of each target
  Tensor loss;    // minus their mean
};

struct AdaptiveSoftmaxOptions {
  double div_value = 4;  // the layers of each cluster are narrower by this factor
  bool head_bias = false;
  DType dtype = DType::f32;
};
// Classes are sorted by frequency: the first cutoffs[0] are in the head, the others in clusters
// that end at each further cutoff.
struct AdaptiveLogSoftmaxWithLoss {
  std::vector<int64_t> cutoffs;             // the last one is the number of classes
  Linear head;                              // to the first classes and the clusters
  std::vector<std::array<Linear, 2>> tail;  // tail of each cluster

  static AdaptiveLogSoftmaxWithLoss init(const Tensor& key, int64_t inputs, int64_t classes,
                                         std::vector<int64_t> cutoffs,
                                         const AdaptiveSoftmaxOptions& options = {});
  AdaptiveLoss operator()(const Tensor& x, const Tensor& target) const;
  Tensor log_prob(const Tensor& x) const;  // for all classes: [..., classes]
  Tensor predict(const Tensor& x) const;   // the most probable class of each row
};

}  // namespace plait::nn
