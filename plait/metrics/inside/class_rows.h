// Predictions and targets of classes as rows.
#pragma once

#include <optional>

#include "plait/metrics/classification.h"
#include "plait/tensor/tensor.h"

namespace plait::metrics {

struct ClassRows {
  Tensor predictions;  // [rows, classes] or [rows] of classes; [rows, labels]
  Tensor targets;      // [rows], or [rows, labels]
  Tensor counts;       // in the shape of the targets: the ones that count
};
// Takes scores or classes, as they are given. ShapeError unless there are `num_classes`;
// CheckError if a target or class that counts is none.
ClassRows rows_of(const ClassOptions& options, std::optional<int64_t> num_classes,
                  const Tensor& predictions, const Tensor& targets, const Tensor& mask);
// With decided classes (i64) or booleans in place of scores and targets.
ClassRows decided_rows(const ClassOptions& options, std::optional<int64_t> num_classes,
                       const Tensor& predictions, const Tensor& targets, const Tensor& mask);

// TypeError if the targets are not integers or booleans.
void expect_class_dtype(const Tensor& predictions, const Tensor& targets);

// The number of classes or labels, of which binary metrics have one. ValueError if it is missing.
int64_t expect_classes(const ClassOptions& options, std::optional<int64_t> num_classes);

// How often each of `number` classes occurs where it counts. IndexError if there is no such class.
Tensor occurrences(const Tensor& classes, const Tensor& counts, Dim number);

}  // namespace plait::metrics
