#include "plait/nn/losses/distance_losses.h"

#include <limits>

#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/inside/neural/loss_parts.h"

namespace plait::nn {
namespace {

// True if the sizes of `part` are those of `whole` without the last.
bool lacks_last_axis(const Tensor& part, const Tensor& whole) {
  if (part.rank() + 1 != whole.rank()) return false;
  const Shape sizes = part.shape(), all = whole.shape();
  for (size_t i = 0; i < sizes.rank(); ++i) {
    if (sizes[i] != all[i]) return false;
  }
  return true;
}

}  // namespace

Tensor L1Loss::operator()(const Tensor& input, const Tensor& target) const {
  return l1_loss(input, target, reduction);
}

Tensor MSELoss::operator()(const Tensor& input, const Tensor& target) const {
  return mse_loss(input, target, reduction);
}

Tensor SmoothL1Loss::operator()(const Tensor& input, const Tensor& target) const {
  return smooth_l1_loss(input, target, beta, reduction);
}

Tensor HuberLoss::operator()(const Tensor& input, const Tensor& target) const {
  return huber_loss(input, target, delta, reduction);
}

Tensor PoissonNLLLoss::operator()(const Tensor& input, const Tensor& target) const {
  return poisson_nll_loss(
      input, target, {.log_input = log_input, .full = full, .eps = eps, .reduction = reduction});
}

Tensor GaussianNLLLoss::operator()(const Tensor& input, const Tensor& target,
                                   const Tensor& var) const {
  return gaussian_nll_loss(input, target, lacks_last_axis(var, input) ? expand_dims(var, -1) : var,
                           {.full = full, .eps = eps, .reduction = reduction});
}

Tensor KLDivLoss::operator()(const Tensor& input, const Tensor& target) const {
  // One number is a batch of its own.
  const bool is_number = reduction == Reduction::batchmean && input.rank() == 0;
  return kl_div_loss(
      input, target,
      {.reduction = is_number ? Reduction::sum : reduction, .log_target = log_target});
}

Tensor SoftMarginLoss::operator()(const Tensor& input, const Tensor& target) const {
  return soft_margin_loss(input, target, reduction);
}

Tensor HingeEmbeddingLoss::operator()(const Tensor& input, const Tensor& target) const {
  return hinge_embedding_loss(input, target, margin, reduction);
}

Tensor CosineEmbeddingLoss::operator()(const Tensor& input1, const Tensor& input2,
                                       const Tensor& target) const {
  return cosine_embedding_loss(input1, input2, target, margin, reduction);
}

Tensor MarginRankingLoss::operator()(const Tensor& input1, const Tensor& input2,
                                     const Tensor& target) const {
  return margin_ranking_loss(input1, input2, target, margin, reduction);
}

Tensor TripletMarginLoss::operator()(const Tensor& anchor, const Tensor& positive,
                                     const Tensor& negative) const {
  return triplet_margin_loss(
      anchor, positive, negative,
      {.margin = margin, .p = p, .eps = eps, .swap = swap, .reduction = reduction});
}

Tensor euclidean_distance(const Tensor& a, const Tensor& b) { return pairwise_distance(a, b); }

Tensor triplet_loss_of(const Tensor& near, const Tensor& far, double margin, Reduction reduction) {
  const Call call("nn::TripletMarginWithDistanceLoss", near, far);
  expect_number("margin", margin);
  const LossNumbers numbers({&near, &far});
  const Tensor losses =
      clip(margin + numbers.of(near) - numbers.of(far), 0, std::numeric_limits<double>::infinity());
  return numbers.reduced(losses, reduction);
}

}  // namespace plait::nn
