#include "plait/metrics/inside/class_rows.h"

#include "plait/core/error.h"
#include "plait/metrics/inside/metric_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/statistics.h"

namespace plait::metrics {
namespace {

void expect_number_of_classes(std::optional<int64_t> wanted, Dim given) {
  if (!wanted || given == *wanted) return;
  throw ShapeError("there are scores of {} classes, expected {}", given.text(), *wanted)
      .at(Location::of_caller());
}

ClassRows rows_of_labels(const ClassOptions& options, std::optional<int64_t> num_classes,
                         const Tensor& predictions, const Tensor& targets, const Tensor& counts) {
  expect_alike(predictions, targets);
  Dim rows = targets.shape().element_count(), labels = 1;
  if (options.task == Task::multilabel) {
    if (targets.rank() == 0) {
      throw ShapeError("the targets are {}, expected an axis of labels", targets.type().text())
          .at(Location::of_caller());
    }
    labels = targets.shape(-1);
    expect_number_of_classes(num_classes, labels);
    rows = Shape(targets.shape().dims().first(targets.rank() - 1)).element_count();
  }
  const Shape shape{rows, labels};
  return {reshape(predictions, shape), reshape(targets, shape), reshape(counts, shape)};
}

Tensor rows_of_classes(const ClassOptions& options, std::optional<int64_t> num_classes,
                       const Tensor& predictions, const Tensor& targets) {
  const Dim rows = targets.shape().element_count();
  if (predictions.rank() == targets.rank() + 1) {
    const Tensor scores = moveaxis(predictions, options.axis, -1);
    expect_number_of_classes(num_classes, scores.shape(-1));
    if (Shape(scores.shape().dims().first(targets.rank())) != targets.shape()) {
      expect_alike(predictions, targets);
    }
    return reshape(scores, {rows, scores.shape(-1)});
  }
  expect_alike(predictions, targets);
  if (is_floating(predictions.dtype())) {
    throw ShapeError("the predictions are {}, expected scores with an axis of classes, or classes",
                     predictions.type().text())
        .at(Location::of_caller())
        .hint("probabilities need the task: Task::binary");
  }
  return reshape(predictions, {rows});
}

}  // namespace

ClassRows rows_of(const ClassOptions& options, std::optional<int64_t> num_classes,
                  const Tensor& predictions, const Tensor& targets, const Tensor& mask) {
  const Tensor given = stop_gradient(predictions);
  Tensor counts = counted(mask, targets.shape());
  if (options.ignore_index) counts = counts & (targets != *options.ignore_index);
  if (options.task != Task::multiclass) {
    return rows_of_labels(options, num_classes, given, targets, counts);
  }
  const Shape shape{targets.shape().element_count()};
  return {rows_of_classes(options, num_classes, given, targets), reshape(targets, shape),
          reshape(counts, shape)};
}

ClassRows decided_rows(const ClassOptions& options, std::optional<int64_t> num_classes,
                       const Tensor& predictions, const Tensor& targets, const Tensor& mask) {
  const ClassRows rows = rows_of(options, num_classes, predictions, targets, mask);
  const Tensor& given = rows.predictions;
  if (options.task == Task::multiclass) {
    return {given.rank() == 2 ? argmax(given, -1) : astype(given, DType::i64),
            astype(rows.targets, DType::i64), rows.counts};
  }
  return {is_floating(given.dtype()) ? given > options.threshold : given != 0, rows.targets != 0,
          rows.counts};
}

int64_t expect_classes(const ClassOptions& options, std::optional<int64_t> num_classes) {
  if (options.task == Task::binary) return 1;
  if (!num_classes) {
    throw ValueError("num_classes is missing")
        .at(Location::of_caller())
        .hint("{.num_classes = 10}");
  }
  if (*num_classes < 1) {
    throw ValueError("num_classes is {}, expected 1 or more", *num_classes)
        .at(Location::of_caller());
  }
  return *num_classes;
}

Tensor occurrences(const Tensor& classes, const Tensor& counts, Dim number) {
  return bincount(where(counts, classes, 0), number, astype(counts, DType::i64));
}

}  // namespace plait::metrics
