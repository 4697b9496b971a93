#include "plait/metrics/classification.h"

#include <string_view>

#include "plait/core/error.h"
#include "plait/metrics/inside/class_rows.h"
#include "plait/metrics/inside/metric_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/loss.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"

namespace plait::metrics {
namespace {

constexpr std::string_view title_of(ClassRatio ratio) {
  switch (ratio) {
    case ClassRatio::precision: return "metrics::Precision";
    case ClassRatio::recall: return "metrics::Recall";
    case ClassRatio::f1: break;
  }
  return "metrics::F1";
}

// The ratio from the numbers of true positives, false positives and false negatives.
Tensor ratio_of(ClassRatio ratio, const Tensor& hits, const Tensor& wrong, const Tensor& missed) {
  switch (ratio) {
    case ClassRatio::precision: return quotient_or_0(hits, hits + wrong);
    case ClassRatio::recall: return quotient_or_0(hits, hits + missed);
    case ClassRatio::f1: break;
  }
  return quotient_or_0(hits * 2, hits * 2 + wrong + missed);
}

}  // namespace

Accuracy Accuracy::update(const Tensor& predictions, const Tensor& targets,
                          const Tensor& mask) const {
  const Call call("metrics::Accuracy", predictions, targets);
  if (top_k < 1 || (top_k > 1 && of.task != Task::multiclass)) {
    throw ValueError("top_k is {}, expected 1, or more for Task::multiclass", top_k)
        .at(Location::of_caller());
  }
  Tensor is_right, counts;
  if (top_k == 1) {
    const ClassRows rows = decided_rows(of, {}, predictions, targets, mask);
    is_right = rows.predictions == rows.targets;
    counts = rows.counts;
  } else {
    const ClassRows rows = rows_of(of, {}, predictions, targets, mask);
    if (rows.predictions.rank() != 2) {
      throw ShapeError("the predictions are classes, expected scores for the top_k")
          .at(Location::of_caller());
    }
    const Tensor best = topk(rows.predictions, top_k, -1).indices;
    is_right = any(best == expand_dims(rows.targets, 1), -1);
    counts = rows.counts;
  }
  Accuracy next = *this;
  next.correct = correct + sum(is_right & counts);
  next.count = count + sum(counts);
  return next;
}
Accuracy Accuracy::merge(const Accuracy& other) const { return sum_of_both(*this, other); }
Accuracy Accuracy::all_reduce(const AxisNames& names) const { return sum_along_axes(*this, names); }
Accuracy Accuracy::reset() const { return of_no_data(*this); }
Tensor Accuracy::compute() const { return quotient(correct, count); }

template <ClassRatio ratio>
RatioOfClasses<ratio> RatioOfClasses<ratio>::init(const RatioOptions& options) {
  const Call call(title_of(ratio));
  const Tensor nothing = zeros({expect_classes(options.of, options.num_classes)}, DType::i64);
  return {.options = options,
          .true_positives = nothing,
          .false_positives = nothing,
          .false_negatives = nothing};
}

template <ClassRatio ratio>
RatioOfClasses<ratio> RatioOfClasses<ratio>::update(const Tensor& predictions,
                                                    const Tensor& targets,
                                                    const Tensor& mask) const {
  const Call call(title_of(ratio), predictions, targets);
  const auto [predicted, actual, counts] =
      decided_rows(options.of, options.num_classes, predictions, targets, mask);
  Tensor hits, positives, members;
  if (options.of.task == Task::multiclass) {
    const int64_t classes = *options.num_classes;
    hits = occurrences(actual, counts & (predicted == actual), classes);
    positives = occurrences(predicted, counts, classes);
    members = occurrences(actual, counts, classes);
  } else {
    hits = sum(predicted & actual & counts, 0);
    positives = sum(predicted & counts, 0);
    members = sum(actual & counts, 0);
  }
  RatioOfClasses next = *this;
  next.true_positives = true_positives + hits;
  next.false_positives = false_positives + positives - hits;
  next.false_negatives = false_negatives + members - hits;
  return next;
}

template <ClassRatio ratio>
RatioOfClasses<ratio> RatioOfClasses<ratio>::merge(const RatioOfClasses& other) const {
  return sum_of_both(*this, other);
}
template <ClassRatio ratio>
RatioOfClasses<ratio> RatioOfClasses<ratio>::all_reduce(const AxisNames& names) const {
  return sum_along_axes(*this, names);
}
template <ClassRatio ratio>
RatioOfClasses<ratio> RatioOfClasses<ratio>::reset() const {
  return of_no_data(*this);
}

template <ClassRatio ratio>
Tensor RatioOfClasses<ratio>::compute() const {
  if (options.average == Average::micro) {
    return ratio_of(ratio, sum(true_positives), sum(false_positives), sum(false_negatives));
  }
  const Tensor ratios = ratio_of(ratio, true_positives, false_positives, false_negatives);
  if (options.of.task == Task::binary) return squeeze(ratios, 0);
  if (options.average == Average::none) return ratios;
  Tensor shares = true_positives + false_negatives;
  if (options.average == Average::macro) {
    shares = options.of.task == Task::multilabel ? ones_like(shares)
                                                 : astype(shares + false_positives > 0, DType::i64);
  }
  return quotient_or_0(sum(ratios * exact(shares)), sum(exact(shares)));
}

template struct RatioOfClasses<ClassRatio::precision>;
template struct RatioOfClasses<ClassRatio::recall>;
template struct RatioOfClasses<ClassRatio::f1>;

ConfusionMatrix ConfusionMatrix::init(const ConfusionOptions& options) {
  const Call call("metrics::ConfusionMatrix");
  const int64_t classes = expect_classes(options.of, options.num_classes);
  const Shape shape = options.of.task == Task::multiclass ? Shape{classes, classes}
                      : options.of.task == Task::binary   ? Shape{2, 2}
                                                          : Shape{classes, 2, 2};
  return {.options = options, .counts = zeros(shape, DType::i64)};
}

ConfusionMatrix ConfusionMatrix::update(const Tensor& predictions, const Tensor& targets,
                                        const Tensor& mask) const {
  const Call call("metrics::ConfusionMatrix", predictions, targets);
  const ClassRows rows = decided_rows(options.of, options.num_classes, predictions, targets, mask);
  const int64_t classes = counts.shape(-1).number();
  const Tensor predicted = astype(rows.predictions, DType::i64);
  const Tensor actual = astype(rows.targets, DType::i64);
  const auto is_class = [&](const Tensor& x) { return (x >= 0) & (x < classes); };
  Tensor place = actual * classes + predicted;
  if (options.of.task == Task::multilabel) place = place + iota(*options.num_classes) * 4;
  place = where(is_class(predicted) & is_class(actual), place, -1);  // bincount refuses −1
  const Shape flat{place.shape().element_count()};
  const Tensor found =
      occurrences(reshape(place, flat), reshape(rows.counts, flat), counts.shape().element_count());
  ConfusionMatrix next = *this;
  next.counts = counts + reshape(found, counts.shape());
  return next;
}
ConfusionMatrix ConfusionMatrix::merge(const ConfusionMatrix& other) const {
  return sum_of_both(*this, other);
}
ConfusionMatrix ConfusionMatrix::all_reduce(const AxisNames& names) const {
  return sum_along_axes(*this, names);
}
ConfusionMatrix ConfusionMatrix::reset() const { return of_no_data(*this); }

Tensor ConfusionMatrix::compute() const {
  switch (options.normalize) {
    case Normalize::none: break;
    case Normalize::truth: return quotient_or_0(counts, sum(counts, -1, true));
    case Normalize::prediction: return quotient_or_0(counts, sum(counts, -2, true));
    case Normalize::all: return quotient_or_0(counts, sum(counts, {-2, -1}, true));
  }
  return counts;
}

Perplexity Perplexity::update(const Tensor& logits, const Tensor& targets,
                              const Tensor& mask) const {
  const Call call("metrics::Perplexity", logits, targets);
  expect_class_dtype(logits, targets);
  Tensor counts = counted(mask, targets.shape());
  if (ignore_index) counts = counts & (targets != *ignore_index);
  // −2 is refused, −1 is ignored.
  const Tensor classes = where(counts, where(targets < 0, -2, targets), -1);
  const Tensor scores = astype(stop_gradient(logits), computed(inexact(logits.dtype())));
  const Tensor losses = cross_entropy(
      scores, classes, {.axis = axis, .ignore_index = -1, .reduction = Reduction::none});
  Perplexity next = *this;
  next.total = total + sum(exact(losses));
  next.count = count + sum(counts);
  return next;
}
Perplexity Perplexity::merge(const Perplexity& other) const { return sum_of_both(*this, other); }
Perplexity Perplexity::all_reduce(const AxisNames& names) const {
  return sum_along_axes(*this, names);
}
Perplexity Perplexity::reset() const { return of_no_data(*this); }
Tensor Perplexity::compute() const { return exp(quotient(total, count)); }

}  // namespace plait::metrics
