// Losses that PyTorch does not have: of images, for contrastive learning, and others.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/ops/neural/loss.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::nn {

struct SigmoidFocalOptions {
  double alpha = 0.25;  // weight of targets of 1, 1 − alpha that of others; no weights if negative
  double gamma = 2;
  Reduction reduction = Reduction::none;
};
// focal_loss with the options of torchvision: binary cross-entropy of logits, times (1 − p)^gamma
// for the probability p of the target.
Tensor sigmoid_focal_loss(const Tensor& inputs, const Tensor& targets,
                          const SigmoidFocalOptions& options = {});

struct SoftmaxFocalOptions {
  Tensor alpha = {};  // a weight per class
  double gamma = 2;
  int64_t ignore_index = -100;
  Reduction reduction = Reduction::none;  // mean: over the targets that are not ignored
};
// Cross-entropy of logits [batch, classes, …] and indices of classes, times (1 − p)^gamma for the
// probability p of the target.
Tensor softmax_focal_loss(const Tensor& inputs, const Tensor& targets,
                          const SoftmaxFocalOptions& options = {});

struct DiceOptions {
  double smooth = 1;
  std::optional<Axes> axis = {};  // axis of the sums; by default all after the first two
  Reduction reduction = Reduction::mean;
};
// 1 − (2 Σ input · target + smooth) / (Σ input + Σ target + smooth), for probabilities and targets
// [batch, classes, …].
Tensor dice_loss(const Tensor& inputs, const Tensor& targets, const DiceOptions& options = {});

// log cosh(input − target): half of the square of small differences, and the absolute value of
// large ones, less log 2.
Tensor log_cosh(const Tensor& inputs, const Tensor& targets, Reduction reduction = Reduction::mean);

// max(0, 1 − target · input), for targets 1 and −1.
Tensor hinge_loss(const Tensor& inputs, const Tensor& targets,
                  Reduction reduction = Reduction::mean);

struct InfoNceOptions {
  Tensor negative_keys = {};  // [keys, features]; by default the other rows of positive_key
  Reduction reduction = Reduction::mean;
};
// The contrastive loss InfoNCE of vectors [batch, features]: cross-entropy of cosine similarities
// divided by the temperature, where the positive key of a query is in its row.
Tensor info_nce(const Tensor& query, const Tensor& positive_key, const Operand& temperature = 0.1,
                const InfoNceOptions& options = {});

// The contrastive loss of SimCLR, of two views [batch, features] of the same samples: each vector
// shall be more similar to its other view than to all other vectors of both. Without a reduction
// there is a loss for each of x1, then of x2.
Tensor nt_xent(const Tensor& x1, const Tensor& x2, const Operand& temperature = 0.5,
               Reduction reduction = Reduction::mean);

}  // namespace plait::nn
