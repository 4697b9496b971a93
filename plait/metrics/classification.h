// Metrics of classes: of one class of several for each element, of two, or of any number of labels.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/ops/arrays/create.h"
#include "plait/ops/collectives/collective.h"
#include "plait/tensor/tensor.h"

namespace plait::metrics {

// The kinds of predictions and targets.
enum class Task : uint8_t {
  multiclass,  // predictions are scores, with an axis of classes, or classes
  binary,      // predictions are probabilities, compared with the threshold, or booleans
  multilabel,  // the same for several labels, along the last axis
};
struct ClassOptions {
  Task task = Task::multiclass;
  double threshold = 0.5;
  std::optional<int64_t> ignore_index = {};  // elements with this target do not count
  int64_t axis = -1;                         // axis of the classes
};

// The share of right predictions: of classes, where one of the top_k scores is that of the target,
// or of labels.
struct Accuracy {
  ClassOptions of = {};
  int64_t top_k = 1;
  Buffers<Tensor> correct = zeros({}, DType::i64);
  Buffers<Tensor> count = zeros({}, DType::i64);

  // Elements where the mask is false do not count; it may lack the last axes of the targets.
  Accuracy update(const Tensor& predictions, const Tensor& targets, const Tensor& mask = {}) const;
  Accuracy merge(const Accuracy& other) const;
  Accuracy all_reduce(
      const AxisNames& names) const;  // over the data of all samples along named axes
  Accuracy reset() const;
  Tensor compute() const;  // f64; NaN of no data
};

// How results of several classes become one: all counted together, their mean, their mean weighted
// by the elements of each, or none of these.
enum class Average : uint8_t { micro, macro, weighted, none };

enum class ClassRatio : uint8_t { precision, recall, f1 };
struct RatioOptions {
  std::optional<int64_t> num_classes = {};  // or labels; needed unless the task is binary
  Average average = Average::macro;
  ClassOptions of = {};
};
// A ratio of the numbers of true and false positives and false negatives of each class.
template <ClassRatio ratio>
struct RatioOfClasses {
  RatioOptions options;
  Buffers<Tensor> true_positives, false_positives, false_negatives;  // i64[classes]

  static RatioOfClasses init(const RatioOptions& options);
  RatioOfClasses update(const Tensor& predictions, const Tensor& targets,
                        const Tensor& mask = {}) const;
  RatioOfClasses merge(const RatioOfClasses& other) const;
  RatioOfClasses all_reduce(const AxisNames& names) const;
  RatioOfClasses reset() const;
  // 0 where there is nothing to divide by. For macro, classes that neither occur nor are predicted
  // do not count, but labels do.
  Tensor compute() const;
};
// The share of the elements predicted as a class that are of it.
using Precision = RatioOfClasses<ClassRatio::precision>;
// The share of the elements of a class that are predicted as it.
using Recall = RatioOfClasses<ClassRatio::recall>;
// The harmonic mean of precision and recall.
using F1 = RatioOfClasses<ClassRatio::f1>;

enum class Normalize : uint8_t { none, truth, prediction, all };
struct ConfusionOptions {
  std::optional<int64_t> num_classes = {};  // or labels; needed unless the task is binary
  Normalize normalize = Normalize::none;    // divides by the sums of these
  ClassOptions of = {};
};
// How often each class (row) was predicted as each (column); for labels, a matrix for each.
struct ConfusionMatrix {
  ConfusionOptions options;
  Buffers<Tensor> counts;  // i64

  static ConfusionMatrix init(const ConfusionOptions& options);
  ConfusionMatrix update(const Tensor& predictions, const Tensor& targets,
                         const Tensor& mask = {}) const;
  ConfusionMatrix merge(const ConfusionMatrix& other) const;
  ConfusionMatrix all_reduce(const AxisNames& names) const;
  ConfusionMatrix reset() const;
  Tensor compute() const;  // i64, or shares, which are 0 where there is nothing to divide by
};

// exp of the mean cross-entropy of logits, with an axis of classes, and indices of classes.
struct Perplexity {
  std::optional<int64_t> ignore_index = {};
  int64_t axis = -1;
  Buffers<Tensor> total = zeros({}, DType::f64);
  Buffers<Tensor> count = zeros({}, DType::i64);

  Perplexity update(const Tensor& logits, const Tensor& targets, const Tensor& mask = {}) const;
  Perplexity merge(const Perplexity& other) const;
  Perplexity all_reduce(const AxisNames& names) const;
  Perplexity reset() const;
  Tensor compute() const;  // f64; NaN of no data
};

}  // namespace plait::metrics
