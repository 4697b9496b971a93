// Cross-entropy of a linear map, without its logits in memory: they exist for one block of rows at
// a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/nn/buffers.h"
#include "plait/nn/layers/linear_layers.h"
#include "plait/ops/neural/loss.h"

namespace plait::nn {

struct LinearCrossEntropyOptions {
  Tensor linear_bias = {};
  Tensor weight = {};  // a number per class
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;  // none, mean or sum
  std::optional<double> softcap = {};     // s: each logit becomes s · tanh(logit / s)
  std::optional<int64_t> chunk = {};      // rows of a block
};
// cross_entropy(linear(x, linear_weight, linear_bias), target), computed and differentiated for
// `chunk` rows of x at a time: neither the logits of all rows nor their gradients are ever in
// memory. By default these are 256 rows, or a quarter of fewer than 1024, but not less than have
// 2^20 logits.
//
// x is [..., features]. The target has an index of a class for each row, or the probabilities of
// all classes. With a linear_weight [classes, sizes…, features] there are `sizes` targets for each
// row. The result for narrow floats is f32.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& linear_weight, const Tensor& target,
                            const LinearCrossEntropyOptions& options = {});

struct LinearCrossEntropyLossOptions {
  std::vector<int64_t> out_features = {};  // sizes of the targets of each row
  bool bias = false;
  Reduction reduction = Reduction::mean;
  Tensor weight = {};  // a number per class
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  std::optional<double> softcap = {};
  std::optional<int64_t> chunk = {};
  DType dtype = DType::f32;
};
// CrossEntropyLoss of a Linear whose logits are never in memory: linear_cross_entropy.
struct LinearCrossEntropyLoss {
  std::optional<Buffer> weight;  // a number per class
  Linear linear;
  int64_t num_classes = 0;
  std::vector<int64_t> out_features;
  Reduction reduction = Reduction::mean;
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  std::optional<double> softcap;
  std::optional<int64_t> chunk;

  static LinearCrossEntropyLoss init(const Tensor& key, int64_t in_features, int64_t num_classes,
                                     const LinearCrossEntropyLossOptions& options = {});
  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

}  // namespace plait::nn
