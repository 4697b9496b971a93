// Losses that optax has and PyTorch does not, with optax's names: one loss for each row of scores,
// along the last axis.
#pragma once

#include <cstdint>
#include <utility>

#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/loss.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/vmap.h"

namespace plait::nn {

// The loss of a binary sparsemax for labels 0 and 1: 0 once the logit is beyond 1 on the side of
// its label.
Tensor sparsemax_loss(const Tensor& logits, const Tensor& labels);
// The loss of a sparsemax, which is the projection of the scores onto the simplex, for scores [...,
// classes] and indices of classes.
Tensor multiclass_sparsemax_loss(const Tensor& scores, const Tensor& labels);

// max(0, −target · output), for targets 1 and −1.
Tensor perceptron_loss(const Tensor& predictor_outputs, const Tensor& targets);
// The largest score less that of the label, for scores [..., classes] and indices of classes.
Tensor multiclass_perceptron_loss(const Tensor& scores, const Tensor& labels);

// A Fenchel-Young loss: a function of scores and targets, both [..., classes], that returns
// max_fun(scores) less their product. max_fun is a function of one vector; its gradient is the
// prediction that the loss brings to the target.
template <class F>
auto make_fenchel_young_loss(F max_fun) {
  return [max_fun = std::move(max_fun)](const Tensor& scores, const Tensor& targets) -> Tensor {
    const auto greatest = [&](const auto& self, const Tensor& rows) -> Tensor {
      if (rows.rank() <= 1) return max_fun(rows);
      return vmap([&](const Tensor& row) -> Tensor { return self(self, row); })(rows);
    };
    return greatest(greatest, scores) - sum(targets * scores, -1);
  };
}

struct PolyLossOptions {
  double epsilon = 2;
  int64_t axis = -1;  // axis of the classes
  Tensor where = {};  // which classes are there; all by default
};
// Cross-entropy of logits and shares of classes, plus epsilon Σ label · (1 − p): PolyLoss.
Tensor poly_loss_cross_entropy(const Tensor& logits, const Tensor& labels,
                               const PolyLossOptions& options = {});

struct RankingSoftmaxOptions {
  Tensor where = {};    // which items are there; a list without any counts for nothing
  Tensor weights = {};  // one for each item
  Reduction reduction = Reduction::mean;
};
// −Σ relevance · log softmax(score), for scores and relevances [..., items].
Tensor ranking_softmax_loss(const Tensor& logits, const Tensor& labels,
                            const RankingSoftmaxOptions& options = {});

struct GeneralizedKlOptions {
  Axes axis = -1;     // axes of the sum; Axes() are all
  Tensor where = {};  // which elements count; all by default
};
// Σ target (log target − log prediction) + prediction − target, for logarithms of predictions and
// targets that need not sum to 1.
Tensor generalized_kl_divergence(const Tensor& log_predictions, const Tensor& targets,
                                 const GeneralizedKlOptions& options = {});
// The earlier name of generalized_kl_divergence.
Tensor convex_kl_divergence(const Tensor& log_predictions, const Tensor& targets,
                            const GeneralizedKlOptions& options = {});

struct GeneralizedDiceOptions {
  double smooth = 1;
  bool apply_softmax = true;  // the predictions are logits
  bool ignore_background = false;
};
// The mean of the Dice losses of classes, each with a weight that falls with the square of how
// often it is in the targets. Both are [batch, …, classes]: logits, and one-hot targets. The
// background is class 0.
Tensor multiclass_generalized_dice_loss(const Tensor& predictions, const Tensor& targets,
                                        const GeneralizedDiceOptions& options = {});

}  // namespace plait::nn
