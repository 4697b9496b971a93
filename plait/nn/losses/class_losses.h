// Losses of classes, with PyTorch's options. Their functions are in ops/neural/loss.h.
//
//   const nn::CrossEntropyLoss loss{.label_smoothing = 0.1};
//   const Tensor mean = loss(logits, target);
#pragma once

#include <cstdint>
#include <optional>

#include "plait/nn/buffers.h"
#include "plait/ops/neural/loss.h"

namespace plait::nn {

// Cross-entropy of logits [classes] or [batch, classes, …]. The target has indices of classes,
// without their axis, or probabilities, of the shape of the logits.
struct CrossEntropyLoss {
  std::optional<Buffer> weight = {};  // a number per class
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// Negative log-likelihood: cross-entropy of log-probabilities [classes] or [batch, classes, …] and
// indices of classes.
struct NLLLoss {
  std::optional<Buffer> weight = {};  // a number per class
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

using NLLLoss2d = NLLLoss;  // PyTorch's name for images

// Binary cross-entropy of probabilities. Its logarithms are at least −100.
struct BCELoss {
  std::optional<Buffer> weight = {};  // broadcast with the operands
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// Binary cross-entropy of logits: stable where BCELoss of a sigmoid is not.
struct BCEWithLogitsLoss {
  std::optional<Buffer> weight = {};      // broadcast with the operands
  std::optional<Buffer> pos_weight = {};  // factor of the loss of targets of 1
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// The mean over the classes other than the target of max(0, margin − x[target] + x[class])^p.
struct MultiMarginLoss {
  int64_t p = 1;  // 1 or 2
  double margin = 1;
  std::optional<Buffer> weight = {};  // a number per class
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// max(0, 1 − x[listed] + x[other]), summed over all pairs and divided by the number of classes.
// Rows of the target list classes, up to the first negative number.
struct MultiLabelMarginLoss {
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// The mean over the classes, the last dimension, of binary cross-entropies of logits.
struct MultiLabelSoftMarginLoss {
  std::optional<Buffer> weight = {};  // a number per class
  Reduction reduction = Reduction::mean;

  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

// Connectionist temporal classification: −log of the probability of all alignments of a target.
// log_probs is [steps, batch, classes]; the targets are [batch, length], or concatenated.
struct CTCLoss {
  int64_t blank = 0;
  Reduction reduction = Reduction::mean;
  bool zero_infinity = false;  // 0 instead of ∞ for targets without an alignment

  Tensor operator()(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths) const;
};

}  // namespace plait::nn
