#include "plait/nn/losses/optax_losses.h"

#include <limits>
#include <vector>

#include "plait/core/error.h"
#include "plait/nn/losses/more_losses.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/neural/loss_parts.h"
#include "plait/ops/inside/neural/simplex.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/softmax.h"

namespace plait::nn {
namespace {

constexpr double kBelowAll = -std::numeric_limits<double>::infinity();

void expect_alike(const Tensor& a, const Tensor& b) {
  if (a.shape() == b.shape()) return;
  throw ShapeError("the arguments are {} and {}, expected one shape", a.type().text(),
                   b.type().text())
      .at(Location::of_caller());
}

void expect_labels(const Tensor& scores, const Tensor& labels) {
  if (!is_integer(labels.dtype())) {
    throw TypeError("the labels are {}, expected indices of classes", labels.type().text())
        .at(Location::of_caller());
  }
  if (scores.rank() == labels.rank() + 1) return;
  throw ShapeError("the scores are {} and the labels {}, expected [..., classes] and [...]",
                   scores.type().text(), labels.type().text())
      .at(Location::of_caller());
}

// The score of each label.
Tensor of_labels(const Tensor& scores, const Tensor& labels) {
  return squeeze(take_along_axis(scores, expand_dims(labels, -1), -1), -1);
}

Tensor summed(const Tensor& values, const Axes& axis, const Tensor& shown) {
  return sum(shown ? where(shown, values, 0) : values, axis);
}

// The mean over the lists that have an item.
Tensor mean_of_lists(const Tensor& losses, const Tensor& is_there) {
  return sum(losses) / maximum(astype(sum(astype(is_there, DType::i64)), losses.dtype()), 1);
}

}  // namespace

Tensor sparsemax_loss(const Tensor& logits, const Tensor& labels) {
  const Call call("nn::sparsemax_loss", logits, labels);
  const LossNumbers numbers({&logits});
  const Tensor given = numbers.of(logits);
  const Tensor x = where(astype(labels, DType::boolean), -given, given);
  return numbers.rounded(where(x <= -1, 0, where(x >= 1, x, square(x + 1) / 4)));
}

Tensor multiclass_sparsemax_loss(const Tensor& scores, const Tensor& labels) {
  const Call call("nn::multiclass_sparsemax_loss", scores, labels);
  expect_labels(scores, labels);
  const LossNumbers numbers({&scores});
  const Tensor x = numbers.of(scores), shares = onto_simplex(x);
  const Tensor differences = x - expand_dims(of_labels(x, labels), -1);
  return numbers.rounded(sum(shares * differences, -1) + 0.5 * (1 - sum(square(shares), -1)));
}

Tensor perceptron_loss(const Tensor& predictor_outputs, const Tensor& targets) {
  const Call call("nn::perceptron_loss", predictor_outputs, targets);
  expect_alike(predictor_outputs, targets);
  const LossNumbers numbers({&predictor_outputs, &targets});
  return numbers.rounded(maximum(-numbers.of(predictor_outputs) * numbers.of(targets), 0));
}

Tensor multiclass_perceptron_loss(const Tensor& scores, const Tensor& labels) {
  const Call call("nn::multiclass_perceptron_loss", scores, labels);
  expect_labels(scores, labels);
  const LossNumbers numbers({&scores});
  const Tensor x = numbers.of(scores);
  return numbers.rounded(max(x, -1) - of_labels(x, labels));
}

Tensor poly_loss_cross_entropy(const Tensor& logits, const Tensor& labels,
                               const PolyLossOptions& options) {
  const Call call("nn::poly_loss_cross_entropy", logits, labels);
  const LossNumbers numbers({&logits, &labels});
  const Tensor &shown = options.where, x = numbers.of(logits), shares = numbers.of(labels);
  const Tensor logarithms = log_softmax(shown ? where(shown, x, kBelowAll) : x, options.axis);
  const Tensor finite = shown ? where(shown, logarithms, 0) : where(shares == 0, 0, logarithms);
  const Tensor losses = -shares * finite + options.epsilon * shares * (1 - exp(logarithms));
  return numbers.rounded(summed(losses, options.axis, shown));
}

Tensor ranking_softmax_loss(const Tensor& logits, const Tensor& labels,
                            const RankingSoftmaxOptions& options) {
  const Call call("nn::ranking_softmax_loss", logits, labels);
  const LossNumbers numbers({&logits, &options.weights});
  const Tensor &shown = options.where, x = numbers.of(logits);
  Tensor relevances = numbers.of(labels);
  if (options.weights) relevances = relevances * numbers.of(options.weights);
  if (!shown) {
    return numbers.reduced(-sum(relevances * log_softmax(x, -1), -1), options.reduction);
  }
  const Tensor is_there = any(shown, -1);
  const Tensor seen = logical_or(shown, logical_not(expand_dims(is_there, -1)));
  const Tensor logarithms = where(shown, log_softmax(where(seen, x, kBelowAll), -1), 0);
  const Tensor losses = -sum(where(shown, relevances * logarithms, 0), -1);
  if (options.reduction != Reduction::mean) return numbers.reduced(losses, options.reduction);
  return numbers.rounded(mean_of_lists(losses, is_there));
}

Tensor generalized_kl_divergence(const Tensor& log_predictions, const Tensor& targets,
                                 const GeneralizedKlOptions& options) {
  const Call call("nn::generalized_kl_divergence", log_predictions, targets);
  expect_alike(log_predictions, targets);
  const LossNumbers numbers({&log_predictions, &targets});
  const Tensor found = numbers.of(log_predictions), wanted = numbers.of(targets);
  const Tensor logarithms = log(where(wanted == 0, 1, wanted));
  const Tensor losses = wanted * (logarithms - found) + exp(found) - wanted;
  return numbers.rounded(summed(losses, options.axis, options.where));
}

Tensor convex_kl_divergence(const Tensor& log_predictions, const Tensor& targets,
                            const GeneralizedKlOptions& options) {
  return generalized_kl_divergence(log_predictions, targets, options);
}

Tensor multiclass_generalized_dice_loss(const Tensor& predictions, const Tensor& targets,
                                        const GeneralizedDiceOptions& options) {
  const Call call("nn::multiclass_generalized_dice_loss", predictions, targets);
  expect_not_negative("smooth", options.smooth);
  expect_alike(predictions, targets);
  if (targets.rank() < 2) {
    throw ShapeError("the targets are {}, expected [batch, …, classes]", targets.type().text())
        .at(Location::of_caller());
  }
  const LossNumbers numbers({&predictions, &targets});
  Tensor found = numbers.of(predictions);
  const Tensor wanted = numbers.of(targets);
  const Dim count = targets.shape(-1);
  const bool is_one_class = same(count, 1);
  std::vector<int64_t> others;
  for (int64_t axis = 0; axis + 1 < static_cast<int64_t>(targets.rank()); ++axis) {
    others.push_back(axis);
  }
  const Tensor frequent = 1 / (square(sum(wanted, others)) + 1e-7);
  const Tensor weights = frequent / sum(frequent) * astype(tensor_from(count), numbers.dtype());
  if (options.apply_softmax) found = is_one_class ? sigmoid(found) : softmax(found, -1);
  const std::vector<int64_t> of_space(others.begin() + 1, others.end());
  // As in optax, which adds `smooth` to half of dice_loss's fraction.
  const DiceOptions dice{
      .smooth = 2 * options.smooth, .axis = Axes(of_space), .reduction = Reduction::none};
  const Tensor losses = weights * dice_loss(found, wanted, dice);
  const bool leaves_out = options.ignore_background && !is_one_class;
  return numbers.rounded(mean(leaves_out ? losses[{ellipsis, Slice{1, {}}}] : losses));
}

}  // namespace plait::nn
