// Classification losses.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/neural/loss_parts.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

int64_t class_axis(std::string_view function, const Tensor& x, std::optional<int64_t> axis) {
  if (x.rank() == 0) {
    throw ShapeError("{}: {} has no classes", function, x.type().text()).at(Location::of_caller());
  }
  return normal_axis(axis.value_or(x.rank() == 1 ? 0 : 1), x.rank());
}

Shape without_axis(const Tensor& x, int64_t axis) {
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (static_cast<int64_t>(i) != axis) shape.append(x.shape()[i]);
  }
  return shape;
}

// True if the shape is the wanted one, followed by 1.
bool is_one_longer(const Shape& shape, const Shape& wanted) {
  const size_t rank = wanted.rank();
  return shape.rank() == rank + 1 && !differ(shape[rank], 1) &&
         same(Shape(shape.dims().first(rank)), wanted);
}

void expect_sizes(std::string_view function, const Tensor& x, const Tensor& target,
                  const Shape& wanted) {
  bool fits = target.rank() == wanted.rank();
  for (size_t i = 0; fits && i < wanted.rank(); ++i) fits = !differ(target.shape()[i], wanted[i]);
  if (fits) return;
  ShapeError error("{}: the targets are {} for {}, expected {}", function, target.type().text(),
                   x.type().text(), wanted.text());
  if (target.rank() + 1 == wanted.rank()) {
    error.set_hint("targets of floats are probabilities of all classes; classes are integers");
  } else if (is_one_longer(target.shape(), wanted)) {
    error.set_hint("squeeze the last axis of the targets");
  } else if (x.rank() > 2 && same(target.shape(), Shape(x.shape().dims().first(x.rank() - 1)))) {
    error.set_hint("the classes are along axis 1; if they are along the last axis, pass axis=-1");
  }
  throw std::move(error).at(Location::of_caller());
}

void expect_classes(std::string_view function, const Tensor& target) {
  if (is_integer(target.dtype())) return;
  TypeError error("{}: the target is {}, not integers", function, target.type().text());
  if (target.dtype() == DType::boolean) error.set_hint("convert it to i64 with astype");
  throw std::move(error).at(Location::of_caller());
}

// The class index of each sample, 0 for ignored ones. Negative class indices are invalid.
struct SampleClasses {
  Tensor given;
  Tensor index;
  Tensor is_ignored;

  // The first class that is neither in [0, count) nor ignored.
  std::string wrong_one(Dim count) const {
    if (Trace::current() != nullptr || !count.is_number()) return "a class";
    const Array packed = index.array().contiguous(), all = given.array().contiguous();
    const auto indices = packed.elements<int64_t>();
    const auto wrong = std::ranges::find_if(
        indices, [&](int64_t each) { return each < 0 || each >= count.number(); });
    if (wrong == indices.end()) return "a class";
    return fmt::format("the class {}",
                       all.elements<int64_t>()[static_cast<size_t>(wrong - indices.begin())]);
  }
};
SampleClasses classes_in(std::string_view function, const Tensor& x, const Tensor& target,
                         int64_t axis, std::optional<int64_t> ignore_index) {
  expect_classes(function, target);
  expect_sizes(function, x, target, without_axis(x, axis));
  const Tensor given = astype(target, DType::i64);
  SampleClasses classes{given, where(given < 0, x.shape(axis), given), {}};
  if (!ignore_index) return classes;
  classes.is_ignored = given == *ignore_index;
  classes.index = where(classes.is_ignored, 0, classes.index);
  return classes;
}

// The element of x at the class of each sample.
Tensor at_classes(const Tensor& x, const Tensor& index, int64_t axis) {
  return squeeze(take_along_axis(x, expand_dims(index, axis), axis), axis);
}

// One number per class, shaped to broadcast along the axis of x.
Tensor along_classes(std::string_view function, const Tensor& weights, const Tensor& x,
                     int64_t axis) {
  if (weights.rank() != 1 || differ(weights.shape(0), x.shape(axis))) {
    throw ShapeError("{}: the weights {} do not match the classes of {}", function,
                     weights.type().text(), x.type().text())
        .at(Location::of_caller());
  }
  Shape shape{x.shape(axis)};
  for (size_t i = static_cast<size_t>(axis) + 1; i < x.rank(); ++i) shape.append(1);
  return reshape(weights, shape);
}

// −Σ of weighted log-probabilities of all classes.
Tensor loss_of_all(const Tensor& logs, const Tensor& weights, int64_t axis) {
  return -sum(weights ? zero_or_product(weights, logs) : logs, axis);
}

struct ClassLoss {
  std::string_view function;
  const LossNumbers& numbers;
  int64_t axis;
  Tensor weights;  // along the axis
  int64_t ignore_index;
  double smoothing;
  Reduction reduction;

  Tensor at_given_classes(const Tensor& logs, const SampleClasses& classes) const try {
    return at_classes(logs, classes.index, axis);
  } catch (const IndexError&) {
    throw IndexError("{}: the target has {}, which is out of range for {} classes", function,
                     classes.wrong_one(logs.shape(axis)), logs.shape(axis).text())
        .at(Location::of_caller());
  }

  Tensor of_classes(const Tensor& logs, const Tensor& target) const {
    const SampleClasses classes = classes_in(function, logs, target, axis, ignore_index);
    const auto unless_ignored = [&](const Tensor& x) { return where(classes.is_ignored, 0, x); };
    Tensor losses = -at_given_classes(logs, classes);
    Tensor counts = ones(losses.shape(), losses.dtype());
    if (weights) {
      counts = at_classes(broadcast_to(weights, logs.shape()), classes.index, axis);
      losses = zero_or_product(counts, losses);
    }
    if (smoothing != 0) {
      losses = losses * (1 - smoothing) + loss_of_all(logs, weights, axis) * smoothing_share(logs);
    }
    losses = unless_ignored(losses);
    if (reduction != Reduction::mean) return numbers.reduced(losses, reduction);
    return numbers.rounded(sum(losses) / sum(unless_ignored(counts)));
  }

  // The share of each class.
  Tensor smoothing_share(const Tensor& logs) const {
    return smoothing / Operand(logs.shape(axis)).as(logs.dtype());
  }

  Tensor of_probabilities(const Tensor& logs, const Tensor& target) const {
    expect_sizes(function, logs, target, logs.shape());
    Tensor shares = numbers.of(target);
    if (smoothing != 0) shares = shares * (1 - smoothing) + smoothing_share(logs);
    if (weights) shares = shares * weights;
    return numbers.reduced(-sum(zero_or_product(shares, logs), axis), reduction);
  }
};

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& target,
                     const CrossEntropyOptions& options) {
  const Call call("cross_entropy", logits, target);
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    throw ValueError("cross_entropy: the smoothing is {}, expected 0 to 1", options.label_smoothing)
        .at(Location::of_caller());
  }
  const LossNumbers numbers({&logits, &options.weight});
  const int64_t axis = class_axis("cross_entropy", logits, options.axis);
  Tensor weights;
  if (options.weight) {
    weights = numbers.of(along_classes("cross_entropy", options.weight, logits, axis));
  }
  const ClassLoss loss{
      "cross_entropy",         numbers,          axis, weights, options.ignore_index,
      options.label_smoothing, options.reduction};
  const Tensor logs = log_softmax(numbers.of(logits), axis);
  return is_floating(target.dtype()) ? loss.of_probabilities(logs, target)
                                     : loss.of_classes(logs, target);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& target, const NllOptions& options) {
  const Call call("nll_loss", log_probabilities, target);
  const LossNumbers numbers({&log_probabilities, &options.weight});
  const int64_t axis = class_axis("nll_loss", log_probabilities, options.axis);
  Tensor weights;
  if (options.weight) {
    weights = numbers.of(along_classes("nll_loss", options.weight, log_probabilities, axis));
  }
  const ClassLoss loss{"nll_loss", numbers,          axis, weights, options.ignore_index,
                       0,          options.reduction};
  return loss.of_classes(numbers.of(log_probabilities), target);
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const MultiMarginOptions& options) {
  const Call call("multi_margin_loss", x, target);
  expect_number("margin", options.margin);
  if (options.p != 1 && options.p != 2) {
    throw ValueError("multi_margin_loss: p is {}, expected 1 or 2", options.p)
        .at(Location::of_caller());
  }
  const LossNumbers numbers({&x, &options.weight});
  const int64_t axis = class_axis("multi_margin_loss", x, -1);
  const Tensor scores = numbers.of(x);
  const Tensor index = classes_in("multi_margin_loss", x, target, axis, {}).index;
  const Tensor own = expand_dims(at_classes(scores, index, axis), axis);
  Tensor over = relu(options.margin - own + scores);
  if (options.p == 2) over = square(over);
  Tensor losses = mean(where(expand_dims(index, axis) == iota(x.shape(axis)), 0, over), axis);
  if (options.weight) {
    const Tensor weights = along_classes("multi_margin_loss", options.weight, x, axis);
    losses = losses * at_classes(broadcast_to(numbers.of(weights), x.shape()), index, axis);
  }
  return numbers.reduced(losses, options.reduction);
}

Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  const Call call("multilabel_margin_loss", x, target);
  const LossNumbers numbers({&x});
  class_axis("multilabel_margin_loss", x, -1);
  expect_classes("multilabel_margin_loss", target);
  expect_sizes("multilabel_margin_loss", x, target, x.shape());
  const Tensor scores = numbers.of(x);
  const Tensor is_named = cummin(target >= 0, -1);
  const Tensor index = where(is_named, astype(target, DType::i64), 0);
  // [..., listed classes, all classes]
  const Tensor pair_is_named = expand_dims(is_named, -1);
  const Tensor is_same = (expand_dims(index, -1) == iota(x.shape(-1))) & pair_is_named;
  const Tensor is_other = ~any(is_same, -2, true);
  const Tensor own = expand_dims(take_along_axis(scores, index, -1), -1);
  const Tensor over = relu(1 - (own - expand_dims(scores, -2)));
  const Tensor counted = where(pair_is_named & is_other, over, 0);
  return numbers.reduced(sum(counted, {-2, -1}) / x.shape(-1), reduction);
}

}  // namespace plait
