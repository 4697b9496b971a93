// Losses, with several options each.
#include "plait/nn/losses/class_losses.h"
#include "plait/nn/losses/distance_losses.h"
#include "plait/nn/losses/linear_cross_entropy.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/neural/softmax.h"

#include "tests/oracles/layer_cases.h"

namespace plait {
namespace {

// Weights of classes, which the oracle replaces by its own.
Tensor weights() { return ones({5}, kF64); }

// PyTorch's derivative of the CTC loss is that by the logits of its log-probabilities.
struct CtcOfLogits {
  nn::CTCLoss loss;

  Tensor operator()(const Tensor& logits, const Tensor& targets, const Tensor& input_lengths,
                    const Tensor& target_lengths) const {
    return loss(log_softmax(logits, -1), targets, input_lengths, target_lengths);
  }
};

Tensor city_distance(const Tensor& a, const Tensor& b) { return sum(absolute(a - b), -1); }

// A case that needs no key.
template <size_t inputs, class Make>
LayerCase loss(std::string name, Make make) {
  return layer<inputs>(std::move(name), [make](const Tensor&) { return make(); });
}

const LayerCases kClassCases{
    loss<2>("cross_entropy_loss", [] { return nn::CrossEntropyLoss{}; }),
    loss<2>("cross_entropy_loss_options",
            [] {
              return nn::CrossEntropyLoss{
                  .weight = weights(), .ignore_index = 2, .label_smoothing = 0.1};
            }),
    loss<2>("cross_entropy_loss_none",
            [] { return nn::CrossEntropyLoss{.reduction = Reduction::none}; }),
    loss<2>("cross_entropy_loss_of_images",
            [] { return nn::CrossEntropyLoss{.weight = weights(), .reduction = Reduction::sum}; }),
    loss<2>("cross_entropy_loss_probabilities",
            [] { return nn::CrossEntropyLoss{.label_smoothing = 0.2}; }),
    loss<2>("nll_loss", [] { return nn::NLLLoss{}; }),
    loss<2>("nll_loss_options",
            [] {
              return nn::NLLLoss{
                  .weight = weights(), .ignore_index = 1, .reduction = Reduction::mean};
            }),
    loss<2>("nll_loss_sum", [] { return nn::NLLLoss{.reduction = Reduction::sum}; }),
    loss<2>("bce_loss", [] { return nn::BCELoss{}; }),
    loss<2>("bce_loss_options",
            [] { return nn::BCELoss{.weight = weights(), .reduction = Reduction::none}; }),
    loss<2>("bce_with_logits_loss", [] { return nn::BCEWithLogitsLoss{}; }),
    loss<2>("bce_with_logits_loss_options",
            [] {
              return nn::BCEWithLogitsLoss{
                  .weight = weights(), .pos_weight = weights(), .reduction = Reduction::sum};
            }),
    loss<2>("multi_margin_loss", [] { return nn::MultiMarginLoss{}; }),
    loss<2>("multi_margin_loss_options",
            [] {
              return nn::MultiMarginLoss{
                  .p = 2, .margin = 0.5, .weight = weights(), .reduction = Reduction::none};
            }),
    loss<2>("multilabel_margin_loss", [] { return nn::MultiLabelMarginLoss{}; }),
    loss<2>("multilabel_margin_loss_none",
            [] { return nn::MultiLabelMarginLoss{.reduction = Reduction::none}; }),
    loss<2>("multilabel_soft_margin_loss", [] { return nn::MultiLabelSoftMarginLoss{}; }),
    loss<2>("multilabel_soft_margin_loss_options",
            [] {
              return nn::MultiLabelSoftMarginLoss{.weight = weights(), .reduction = Reduction::sum};
            }),
    loss<4>("ctc_loss", [] { return CtcOfLogits{}; }),
    loss<4>("ctc_loss_options",
            [] {
              return CtcOfLogits{{.blank = 3, .reduction = Reduction::sum, .zero_infinity = true}};
            }),
};

const LayerCases kDistanceCases{
    loss<2>("l1_loss", [] { return nn::L1Loss{}; }),
    loss<2>("l1_loss_none", [] { return nn::L1Loss{.reduction = Reduction::none}; }),
    loss<2>("mse_loss", [] { return nn::MSELoss{}; }),
    loss<2>("mse_loss_sum", [] { return nn::MSELoss{.reduction = Reduction::sum}; }),
    loss<2>("smooth_l1_loss", [] { return nn::SmoothL1Loss{}; }),
    loss<2>("smooth_l1_loss_options",
            [] { return nn::SmoothL1Loss{.reduction = Reduction::none, .beta = 0.3}; }),
    loss<2>("huber_loss", [] { return nn::HuberLoss{}; }),
    loss<2>("huber_loss_options",
            [] { return nn::HuberLoss{.reduction = Reduction::sum, .delta = 0.7}; }),
    loss<2>("poisson_nll_loss", [] { return nn::PoissonNLLLoss{}; }),
    loss<2>("poisson_nll_loss_options",
            [] {
              return nn::PoissonNLLLoss{
                  .log_input = false, .full = true, .eps = 1e-3, .reduction = Reduction::none};
            }),
    loss<3>("gaussian_nll_loss", [] { return nn::GaussianNLLLoss{}; }),
    loss<3>(
        "gaussian_nll_loss_options",
        [] { return nn::GaussianNLLLoss{.full = true, .eps = 0.5, .reduction = Reduction::none}; }),
    loss<2>("kl_div_loss", [] { return nn::KLDivLoss{.reduction = Reduction::batchmean}; }),
    loss<2>("kl_div_loss_options", [] { return nn::KLDivLoss{.log_target = true}; }),
    loss<2>("soft_margin_loss", [] { return nn::SoftMarginLoss{}; }),
    loss<2>("hinge_embedding_loss", [] { return nn::HingeEmbeddingLoss{}; }),
    loss<2>("hinge_embedding_loss_options",
            [] { return nn::HingeEmbeddingLoss{.margin = 0.3, .reduction = Reduction::none}; }),
    loss<3>("cosine_embedding_loss", [] { return nn::CosineEmbeddingLoss{}; }),
    loss<3>("cosine_embedding_loss_options",
            [] { return nn::CosineEmbeddingLoss{.margin = -0.4, .reduction = Reduction::none}; }),
    loss<3>("margin_ranking_loss", [] { return nn::MarginRankingLoss{}; }),
    loss<3>("margin_ranking_loss_options",
            [] { return nn::MarginRankingLoss{.margin = 0.6, .reduction = Reduction::sum}; }),
    loss<3>("triplet_margin_loss", [] { return nn::TripletMarginLoss{}; }),
    loss<3>("triplet_margin_loss_options",
            [] {
              return nn::TripletMarginLoss{
                  .margin = 0.5, .p = 1, .eps = 1e-3, .swap = true, .reduction = Reduction::none};
            }),
    loss<3>("triplet_margin_with_distance_loss",
            [] { return nn::TripletMarginWithDistanceLoss<>{}; }),
    loss<3>("triplet_margin_with_distance_loss_options",
            [] {
              return nn::TripletMarginWithDistanceLoss{.distance_function = city_distance,
                                                       .margin = 2,
                                                       .swap = true,
                                                       .reduction = Reduction::none};
            }),
};

nn::LinearCrossEntropyLossOptions in_blocks(nn::LinearCrossEntropyLossOptions options) {
  options.chunk = 4;
  options.dtype = kF64;
  return options;
}

const LayerCases kLinearCases{
    layer<2>("linear_cross_entropy_loss",
             [](const Tensor& key) {
               return nn::LinearCrossEntropyLoss::init(key, 3, 5, in_blocks({}));
             }),
    layer<2>("linear_cross_entropy_loss_options",
             [](const Tensor& key) {
               return nn::LinearCrossEntropyLoss::init(key, 3, 5,
                                                       in_blocks({.bias = true,
                                                                  .reduction = Reduction::none,
                                                                  .weight = weights(),
                                                                  .ignore_index = 2,
                                                                  .label_smoothing = 0.1}));
             }),
};

}  // namespace
}  // namespace plait
