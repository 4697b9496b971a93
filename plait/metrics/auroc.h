// The area under the curve of true positives over false positives.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plait/metrics/classification.h"
#include "plait/ops/collectives/collective.h"
#include "plait/tensor/tensor.h"

namespace plait::metrics {

struct AurocOptions {
  std::optional<int64_t> num_classes = {};  // or labels; needed unless the task is binary
  Average average = Average::macro;         // macro, weighted or none
  ClassOptions of = {.task = Task::binary};
};
// The area under the ROC curve: the probability that an element of the class has a higher score
// than another one, where equal scores count half. Of several classes, each is compared with all
// others. It is exact, since all scores are kept: its tensors grow, so a scan needs BinnedAUROC.
struct AUROC {
  AurocOptions options;
  Buffers<Tensor> scores;       // f64[rows, classes]
  Buffers<Tensor> is_positive;  // bool, of the same shape
  Buffers<Tensor> counts;       // bool: which of them count

  static AUROC init(const AurocOptions& options = {});
  AUROC update(const Tensor& predictions, const Tensor& targets, const Tensor& mask = {}) const;
  AUROC merge(const AUROC& other) const;
  AUROC all_reduce(std::string_view axis) const;  // over the data of all samples along a named axis
  AUROC reset() const;
  Tensor compute() const;  // f64; NaN if a class has no elements, or all
};

// The same from how many scores are between thresholds, where they count as equal.
struct BinnedAUROC {
  AurocOptions options;
  std::vector<double> thresholds;        // sorted
  Buffers<Tensor> positives, negatives;  // i64[classes, thresholds + 1]

  static BinnedAUROC init(std::vector<double> thresholds, const AurocOptions& options = {});
  // For so many thresholds from 0 to 1.
  static BinnedAUROC init(int64_t thresholds, const AurocOptions& options = {});
  BinnedAUROC update(const Tensor& predictions, const Tensor& targets,
                     const Tensor& mask = {}) const;
  BinnedAUROC merge(const BinnedAUROC& other) const;
  BinnedAUROC all_reduce(const AxisNames& names) const;
  BinnedAUROC reset() const;
  Tensor compute() const;
};

}  // namespace plait::metrics
