#include "plait/nn/losses/class_losses.h"

#include "plait/nn/inside/layer_parts.h"

namespace plait::nn {

Tensor CrossEntropyLoss::operator()(const Tensor& input, const Tensor& target) const {
  return plait::cross_entropy(input, target,
                              {.weight = or_empty(weight),
                               .ignore_index = ignore_index,
                               .label_smoothing = label_smoothing,
                               .reduction = reduction});
}

Tensor NLLLoss::operator()(const Tensor& input, const Tensor& target) const {
  return nll_loss(
      input, target,
      {.weight = or_empty(weight), .ignore_index = ignore_index, .reduction = reduction});
}

Tensor BCELoss::operator()(const Tensor& input, const Tensor& target) const {
  return binary_cross_entropy(input, target, {.weight = or_empty(weight), .reduction = reduction});
}

Tensor BCEWithLogitsLoss::operator()(const Tensor& input, const Tensor& target) const {
  return binary_cross_entropy_with_logits(
      input, target,
      {.weight = or_empty(weight), .pos_weight = or_empty(pos_weight), .reduction = reduction});
}

Tensor MultiMarginLoss::operator()(const Tensor& input, const Tensor& target) const {
  return multi_margin_loss(
      input, target,
      {.p = p, .margin = margin, .weight = or_empty(weight), .reduction = reduction});
}

Tensor MultiLabelMarginLoss::operator()(const Tensor& input, const Tensor& target) const {
  return multilabel_margin_loss(input, target, reduction);
}

Tensor MultiLabelSoftMarginLoss::operator()(const Tensor& input, const Tensor& target) const {
  return multilabel_soft_margin_loss(input, target,
                                     {.weight = or_empty(weight), .reduction = reduction});
}

Tensor CTCLoss::operator()(const Tensor& log_probs, const Tensor& targets,
                           const Tensor& input_lengths, const Tensor& target_lengths) const {
  return ctc_loss(log_probs, targets, input_lengths, target_lengths,
                  {.blank = blank, .reduction = reduction, .zero_infinity = zero_infinity});
}

}  // namespace plait::nn
