#include "plait/nn/losses/linear_cross_entropy.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/custom.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/remat.h"

namespace plait::nn {
namespace {

// The differentiated operands; x is [rows, features].
struct LinearOperands {
  Tensor x, weight;
  std::optional<Tensor> bias;
};

// A sum over blocks, in at least f32: the loss, and its gradients by weight and bias.
struct Sums {
  Tensor loss, weight;
  std::optional<Tensor> bias;
};

Shape all_but_last(const Tensor& x) { return Shape(x.shape().dims().first(x.rank() - 1)); }

Shape joined(const Shape& a, const Shape& b) {
  Shape all = a;
  for (const Dim size : b) all.append(size);
  return all;
}

// The sizes of x behind the first `count`, after those of `front`.
Shape with_front(const Shape& front, const Tensor& x, size_t count) {
  return joined(front, Shape(x.shape().dims().subspan(count)));
}

void expect_shape(std::string_view what, const Tensor& x, const Shape& wanted) {
  if (x.shape() == wanted) return;
  throw ShapeError("{} is {}, expected {}", what, x.type().text(), wanted.text())
      .at(Location::of_caller());
}

constexpr int64_t kMostRows = 256;                // rows of a block
constexpr int64_t kFewLogits = int64_t{1} << 20;  // which need not be divided

bool is_known_to_be_0(Dim size) { return same(size, Dim(0)); }

DType dtype_of_sums(const LinearOperands& operands) {
  const auto is_wide = [](const Tensor& x) { return x.dtype() == DType::f64; };
  const bool any =
      is_wide(operands.x) || is_wide(operands.weight) || (operands.bias && is_wide(*operands.bias));
  return any ? DType::f64 : DType::f32;
}

// The losses of rows of x.
struct RowLosses {
  Dim classes;
  Shape sizes;  // sizes of the targets of each row
  bool is_of_probabilities = false;
  Tensor class_weight;
  int64_t ignore_index = -100;
  double label_smoothing = 0;
  std::optional<double> softcap;
  std::optional<int64_t> chunk;

  // The losses of some rows, from all of their logits.
  Tensor of_block(const LinearOperands& operands, const Tensor& target) const {
    Tensor logits = linear(operands.x, operands.weight, or_empty(operands.bias));
    if (logits.dtype() != DType::f64) logits = astype(logits, DType::f32);
    if (softcap) logits = tanh(logits / *softcap) * *softcap;
    logits = reshape(logits, joined({logits.shape(0), classes}, sizes));
    return plait::cross_entropy(logits, target,
                                {.axis = 1,
                                 .weight = class_weight,
                                 .ignore_index = ignore_index,
                                 .label_smoothing = label_smoothing,
                                 .reduction = Reduction::none});
  }

  // The rows of a block: a quarter of all, from those that have few logits to kMostRows.
  Dim rows_of_block(Dim rows) const {
    if (chunk) return *chunk;
    const Dim of_row = classes * sizes.element_count();  // logits
    if (!of_row.is_number()) return kMostRows;
    const int64_t few = std::max<int64_t>(kFewLogits / std::max<int64_t>(of_row.number(), 1), 1);
    return min(max(floor_div(rows, 4), few), kMostRows);
  }

  // step(carry, x, target) returns the next carry and an output for each row: for all blocks of
  // rows, then for the rows that remain. Returns the last carry and all outputs.
  template <class Carry, class Step>
  std::pair<Carry, Tensor> each_block(const Step& step, Carry carry, const Tensor& x,
                                      const Tensor& target) const {
    const Dim rows = x.shape(0), of_block = rows_of_block(rows);
    const Dim blocks = floor_div(rows, of_block), in_blocks = blocks * of_block;
    std::vector<Tensor> outputs;
    if (!is_known_to_be_0(blocks)) {
      const auto cut = [&](const Tensor& all) {
        return reshape(slice_axis(all, 0, 0, in_blocks), with_front({blocks, of_block}, all, 1));
      };
      const auto each = [&](const Carry& before, const std::pair<Tensor, Tensor>& block) {
        return step(before, block.first, block.second);
      };
      Tensor found;
      std::tie(carry, found) = scan(each, carry, std::pair(cut(x), cut(target)));
      outputs.push_back(reshape(found, with_front({in_blocks}, found, 2)));
    }
    if (!is_known_to_be_0(rows - in_blocks) || outputs.empty()) {
      const auto rest = [&](const Tensor& all) {
        return slice_axis(all, 0, in_blocks, rows - in_blocks);
      };
      auto [after, found] = step(carry, rest(x), rest(target));
      carry = std::move(after);
      outputs.push_back(std::move(found));
    }
    return {std::move(carry), concat(outputs, 0)};
  }

  // The logits are computed again in the backward pass.
  Tensor of_rows(const LinearOperands& operands, const Tensor& target) const {
    const auto block = remat([losses = *this](const LinearOperands& some, const Tensor& targets) {
      return losses.of_block(some, targets);
    });
    const auto step = [&](const std::tuple<>& nothing, const Tensor& x, const Tensor& targets) {
      return std::pair(nothing, block(LinearOperands{x, operands.weight, operands.bias}, targets));
    };
    return each_block(step, std::tuple<>(), operands.x, target).second;
  }

  Tensor sum_of_rows(const LinearOperands& operands, const Tensor& target) const {
    return sum(of_rows(operands, target));
  }

  // The sum of the losses. Its rule computes the derivatives along with the loss, as they are
  // those of one number.
  Tensor total(const LinearOperands& operands, const Tensor& target) const {
    const auto summed =
        custom_vjp([losses = *this, target](
                       const LinearOperands& given) { return losses.sum_of_rows(given, target); },
                   [losses = *this, target](const LinearOperands& given) {
                     return losses.total_and_slopes(given, target);
                   },
                   [](const LinearOperands& slopes, const Tensor& cotangent) {
                     return map_leaves(slopes, [&](const Tensor& slope) {
                       return astype(cotangent, slope.dtype()) * slope;
                     });
                   });
    return summed(operands);
  }

  std::pair<Tensor, LinearOperands> total_and_slopes(const LinearOperands& operands,
                                                     const Tensor& target) const {
    const DType dtype = dtype_of_sums(operands);
    const auto slopes_of = value_and_grad([&](const LinearOperands& some, const Tensor& targets) {
      return sum(of_block(some, targets));
    });
    const auto added = [&](const Tensor& a, const Tensor& b) { return a + astype(b, dtype); };
    const auto step = [&](const Sums& sums, const Tensor& x, const Tensor& targets) {
      const auto [loss, slopes] =
          slopes_of(LinearOperands{x, operands.weight, operands.bias}, targets);
      Sums next{added(sums.loss, loss), added(sums.weight, slopes.weight), {}};
      if (sums.bias) next.bias = added(*sums.bias, *slopes.bias);
      return std::pair(next, slopes.x);
    };
    Sums nothing{zeros({}, dtype), zeros(operands.weight.shape(), dtype), {}};
    if (operands.bias) nothing.bias = zeros(operands.bias->shape(), dtype);
    const auto [sums, by_x] = each_block(step, nothing, operands.x, target);
    LinearOperands slopes{by_x, astype(sums.weight, operands.weight.dtype()), {}};
    if (sums.bias) slopes.bias = astype(*sums.bias, operands.bias->dtype());
    return {sums.loss, std::move(slopes)};
  }

  // Denominator of the mean: the weights of the targets, or their number.
  Tensor denominator(const Tensor& target, DType dtype) const {
    if (is_of_probabilities) {
      return Operand(target.shape().element_count()).as(dtype) / Operand(classes).as(dtype);
    }
    const Tensor counts = target != ignore_index;
    if (!class_weight) return sum(astype(counts, dtype));
    const Tensor weights = take(astype(class_weight, dtype), where(counts, target, 0), 0);
    return sum(where(counts, weights, 0));
  }
};

void expect_options(double label_smoothing, std::optional<double> softcap,
                    std::optional<int64_t> chunk, Reduction reduction) {
  if (!(label_smoothing >= 0 && label_smoothing <= 1)) {
    throw ValueError("the smoothing is {}, expected 0 to 1", label_smoothing)
        .at(Location::of_caller());
  }
  if (softcap && !(*softcap > 0)) {
    throw ValueError("softcap is {}, expected more than 0", *softcap).at(Location::of_caller());
  }
  if (chunk && *chunk < 1) {
    throw ValueError("chunk is {}, expected a number of rows", *chunk).at(Location::of_caller());
  }
  if (reduction == Reduction::batchmean) {
    throw ValueError("the reduction is batchmean, expected none, mean or sum")
        .at(Location::of_caller());
  }
}

void expect_features(const Tensor& x, const Tensor& weight) {
  if (weight.rank() >= 2 && x.rank() >= 1 && x.shape(-1) == weight.shape(-1)) return;
  throw ShapeError(
      "x is {} and linear_weight {}, expected [..., features] and [classes, features], with the "
      "same number of features",
      x.type().text(), weight.type().text())
      .at(Location::of_caller());
}

// The mean over no targets is NaN, with derivatives of 0.
Tensor divided(const Tensor& total, const Tensor& denominator) {
  const Tensor is_none = denominator == 0;
  return where(is_none, std::numeric_limits<double>::quiet_NaN(),
               total / where(is_none, 1, denominator));
}

Tensor as_matrix(const Tensor& x) {
  return reshape(astype(x, inexact(x.dtype())), {all_but_last(x).element_count(), x.shape(-1)});
}

}  // namespace

Tensor linear_cross_entropy(const Tensor& x, const Tensor& linear_weight, const Tensor& target,
                            const LinearCrossEntropyOptions& options) {
  const Call call("nn::linear_cross_entropy", x, linear_weight, target);
  expect_options(options.label_smoothing, options.softcap, options.chunk, options.reduction);
  expect_features(x, linear_weight);
  const RowLosses losses{
      .classes = linear_weight.shape(0),
      .sizes = Shape(linear_weight.shape().dims().subspan(1, linear_weight.rank() - 2)),
      .is_of_probabilities = is_floating(target.dtype()),
      .class_weight = options.weight,
      .ignore_index = options.ignore_index,
      .label_smoothing = options.label_smoothing,
      .softcap = options.softcap,
      .chunk = options.chunk};
  const Shape rows = all_but_last(x), of_row = all_but_last(linear_weight);
  expect_shape("the target", target,
               joined(rows, losses.is_of_probabilities ? of_row : losses.sizes));
  LinearOperands operands{as_matrix(x), as_matrix(linear_weight), {}};
  if (options.linear_bias) {
    expect_shape("linear_bias", options.linear_bias, of_row);
    operands.bias = reshape(options.linear_bias, {of_row.element_count()});
  }
  const Tensor targets = reshape(target, with_front({operands.x.shape(0)}, target, rows.rank()));
  if (options.reduction == Reduction::none) {
    return reshape(losses.of_rows(operands, targets), joined(rows, losses.sizes));
  }
  // The rule of the total does not cover the targets, which may be differentiated if they are
  // probabilities.
  const Tensor total = losses.is_of_probabilities ? losses.sum_of_rows(operands, targets)
                                                  : losses.total(operands, targets);
  if (options.reduction == Reduction::sum) return total;
  return divided(total, losses.denominator(target, total.dtype()));
}

LinearCrossEntropyLoss LinearCrossEntropyLoss::init(const Tensor& key, int64_t in_features,
                                                    int64_t num_classes,
                                                    const LinearCrossEntropyLossOptions& options) {
  const Call call("nn::LinearCrossEntropyLoss");
  expect_sizes({in_features, num_classes}, "a layer");
  expect_sizes(options.out_features, "targets");
  expect_options(options.label_smoothing, options.softcap, options.chunk, options.reduction);
  LinearCrossEntropyLoss made{.weight = {},
                              .linear = {},
                              .num_classes = num_classes,
                              .out_features = options.out_features,
                              .reduction = options.reduction,
                              .ignore_index = options.ignore_index,
                              .label_smoothing = options.label_smoothing,
                              .softcap = options.softcap,
                              .chunk = options.chunk};
  if (options.weight) {
    expect_shape("the weight", options.weight, {num_classes});
    made.weight = options.weight;
  }
  int64_t outputs = num_classes;
  for (const int64_t size : options.out_features) outputs *= size;
  made.linear =
      Linear::init(key, in_features, outputs, {.bias = options.bias, .dtype = options.dtype});
  return made;
}

Tensor LinearCrossEntropyLoss::operator()(const Tensor& input, const Tensor& target) const {
  const Shape of_row = joined({num_classes}, Shape::of_sizes(out_features));
  return linear_cross_entropy(
      input, reshape(linear.weight, joined(of_row, {linear.weight.shape(1)})), target,
      {.linear_bias = linear.bias ? reshape(*linear.bias, of_row) : Tensor(),
       .weight = or_empty(weight),
       .ignore_index = ignore_index,
       .label_smoothing = label_smoothing,
       .reduction = reduction,
       .softcap = softcap,
       .chunk = chunk});
}

}  // namespace plait::nn
