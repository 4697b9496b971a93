#include "plait/nn/losses/more_losses.h"

#include <cmath>
#include <limits>
#include <vector>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/neural/loss_parts.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/products/linear.h"

namespace plait::nn {
namespace {

// x^exponent for x of at least 0; the derivative at 0 is 0.
Tensor power_from_0(const Tensor& x, double exponent) {
  const Tensor is_0 = x == 0;
  return where(is_0, 0, power(where(is_0, 1, x), exponent));
}

std::vector<int64_t> axes_of_space(const Tensor& x) {
  if (x.rank() < 3) {
    throw ShapeError("the inputs are {}, expected [batch, classes, …]", x.type().text())
        .at(Location::of_caller())
        .hint("pass the axes of the sums: {.axis = -1}");
  }
  std::vector<int64_t> axes;
  for (int64_t axis = 2; axis < static_cast<int64_t>(x.rank()); ++axis) axes.push_back(axis);
  return axes;
}

void expect_vectors(const Tensor& a, const Tensor& b) {
  if (a.rank() == 2 && b.rank() == 2 && a.shape() == b.shape()) return;
  throw ShapeError("the vectors are {} and {}, expected [batch, features] twice", a.type().text(),
                   b.type().text())
      .at(Location::of_caller());
}

void expect_temperature(const Operand& temperature) {
  if (temperature.is_tensor() || number_of(temperature.scalar()) > 0) return;
  throw ValueError("the temperature is {}, expected more than 0", number_of(temperature.scalar()))
      .at(Location::of_caller());
}

// Cross-entropy of the scores of each row and the place of the positive one.
Tensor contrasted(const LossNumbers& numbers, const Tensor& scores, const Tensor& target,
                  Reduction reduction) {
  return numbers.rounded(plait::cross_entropy(scores, target, {.axis = 1, .reduction = reduction}));
}

}  // namespace

Tensor sigmoid_focal_loss(const Tensor& inputs, const Tensor& targets,
                          const SigmoidFocalOptions& options) {
  if (!(options.alpha <= 1)) {
    throw ValueError("nn::sigmoid_focal_loss: alpha is {}, expected at most 1", options.alpha)
        .at(Location::of_caller());
  }
  return focal_loss(
      inputs, targets,
      {.alpha = options.alpha < 0 ? std::nullopt : std::optional<double>(options.alpha),
       .gamma = options.gamma,
       .reduction = options.reduction});
}

Tensor softmax_focal_loss(const Tensor& inputs, const Tensor& targets,
                          const SoftmaxFocalOptions& options) {
  const Call call("nn::softmax_focal_loss", inputs, targets);
  expect_not_negative("gamma", options.gamma);
  if (!is_integer(targets.dtype())) {
    throw TypeError("the targets are {}, expected indices of classes", targets.type().text())
        .at(Location::of_caller());
  }
  const LossNumbers numbers({&inputs, &options.alpha});
  Tensor losses =
      plait::cross_entropy(numbers.of(inputs), targets,
                           {.ignore_index = options.ignore_index, .reduction = Reduction::none});
  if (options.gamma != 0) losses = losses * power_from_0(-expm1(-losses), options.gamma);
  const Tensor is_ignored = targets == options.ignore_index;
  if (options.alpha) {
    losses = losses * take(numbers.of(options.alpha), where(is_ignored, 0, targets), 0);
  }
  if (options.reduction != Reduction::mean) return numbers.reduced(losses, options.reduction);
  return numbers.rounded(sum(losses) / sum(numbers.of(~is_ignored)));
}

Tensor dice_loss(const Tensor& inputs, const Tensor& targets, const DiceOptions& options) {
  const Call call("nn::dice_loss", inputs, targets);
  expect_not_negative("smooth", options.smooth);
  expect_pairs("nn::dice_loss", inputs, targets);
  const LossNumbers numbers({&inputs, &targets});
  const Axes axes = options.axis ? *options.axis : Axes(axes_of_space(inputs));
  const Tensor x = numbers.of(inputs), t = numbers.of(targets);
  const Tensor both = sum(x * t, axes), either = sum(x + t, axes);
  return numbers.reduced(1 - (both * 2 + options.smooth) / (either + options.smooth),
                         options.reduction);
}

Tensor log_cosh(const Tensor& inputs, const Tensor& targets, Reduction reduction) {
  const Call call("nn::log_cosh", inputs, targets);
  expect_pairs("nn::log_cosh", inputs, targets);
  const LossNumbers numbers({&inputs, &targets});
  const Tensor difference = numbers.of(inputs) - numbers.of(targets);
  return numbers.reduced(logaddexp(difference, -difference) - std::log(2.), reduction);
}

Tensor hinge_loss(const Tensor& inputs, const Tensor& targets, Reduction reduction) {
  const Call call("nn::hinge_loss", inputs, targets);
  expect_pairs("nn::hinge_loss", inputs, targets);
  const LossNumbers numbers({&inputs, &targets});
  return numbers.reduced(relu(1 - numbers.of(inputs) * numbers.of(targets)), reduction);
}

Tensor info_nce(const Tensor& query, const Tensor& positive_key, const Operand& temperature,
                const InfoNceOptions& options) {
  const Call call("nn::info_nce", query, positive_key);
  expect_vectors(query, positive_key);
  expect_temperature(temperature);
  const LossNumbers numbers({&query, &positive_key, &options.negative_keys});
  const Tensor queries = normalize(numbers.of(query)), keys = normalize(numbers.of(positive_key));
  if (!options.negative_keys) {
    return contrasted(numbers, matmul(queries, matrix_transpose(keys)) / temperature,
                      iota(query.shape(0)), options.reduction);
  }
  const Tensor others = normalize(numbers.of(options.negative_keys));
  const Tensor scores[] = {sum(queries * keys, -1, true),
                           matmul(queries, matrix_transpose(others))};
  return contrasted(numbers, concat(scores, 1) / temperature, zeros({query.shape(0)}, DType::i64),
                    options.reduction);
}

Tensor nt_xent(const Tensor& x1, const Tensor& x2, const Operand& temperature,
               Reduction reduction) {
  const Call call("nn::nt_xent", x1, x2);
  expect_vectors(x1, x2);
  expect_temperature(temperature);
  const LossNumbers numbers({&x1, &x2});
  const Tensor views[] = {numbers.of(x1), numbers.of(x2)};
  const Tensor vectors = normalize(concat(views, 0));
  const Dim count = x1.shape(0);
  const Tensor rows = iota(count * 2);
  // Divided by the temperature before some become −∞, which would have the derivative NaN by it.
  const Tensor scores = matmul(vectors, matrix_transpose(vectors)) / temperature;
  const Tensor of_others =
      where(expand_dims(rows, 1) == rows, -std::numeric_limits<double>::infinity(), scores);
  const Tensor other_view = where(rows < count, rows + count, rows - count);
  return contrasted(numbers, of_others, other_view, reduction);
}

}  // namespace plait::nn
