#include "plait/metrics/inside/class_rows.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/metrics/inside/metric_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/effects/check.h"
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

// CheckError if a class that counts is not from 0 to below the number of classes, if there is one.
void expect_range(std::string_view what, const Tensor& classes, const Tensor& counts,
                  std::optional<Dim> number) {
  const Tensor given = astype(classes, DType::i64);
  const Tensor is_class = number ? (given >= 0) & (given < *number) : given >= 0;
  const std::string wanted =
      number && number->is_number() ? fmt::format("0 to {}", number->number() - 1) : "0 or more";
  check(is_class | logical_not(counts),
        fmt::format("the {} have another class than {}", what, wanted));
}

// CheckError if a target that counts is neither 0 nor 1.
void expect_yes_or_no(const Tensor& targets, const Tensor& counts) {
  if (is_boolean(targets.dtype())) return;
  check((targets == 0) | (targets == 1) | logical_not(counts),
        "the targets have another value than 0 or 1");
}

}  // namespace

void expect_class_dtype(const Tensor& predictions, const Tensor& targets) {
  const DType dtype = targets.dtype();
  if (is_integer(dtype) || is_boolean(dtype)) return;
  throw TypeError("the targets are {}, expected classes, which are integers", targets.type().text())
      .at(Location::of_caller())
      .hint(targets.rank() == predictions.rank() ? "argmax(targets, axis) of one-hot targets"
                                                 : "astype(targets, DType::i64)");
}

ClassRows rows_of(const ClassOptions& options, std::optional<int64_t> num_classes,
                  const Tensor& predictions, const Tensor& targets, const Tensor& mask) {
  const Tensor given = stop_gradient(predictions);
  Tensor counts = counted(mask, targets.shape());
  if (options.ignore_index) counts = counts & (targets != *options.ignore_index);
  if (options.task != Task::multiclass) {
    const ClassRows rows = rows_of_labels(options, num_classes, given, targets, counts);
    expect_yes_or_no(rows.targets, rows.counts);
    return rows;
  }
  expect_class_dtype(given, targets);
  const Shape shape{targets.shape().element_count()};
  const ClassRows rows{rows_of_classes(options, num_classes, given, targets),
                       reshape(targets, shape), reshape(counts, shape)};
  std::optional<Dim> number;
  if (num_classes) number = *num_classes;
  if (rows.predictions.rank() == 2) {
    number = rows.predictions.shape(1);
  } else {
    expect_range("predictions", rows.predictions, rows.counts, number);
  }
  expect_range("targets", rows.targets, rows.counts, number);
  return rows;
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
