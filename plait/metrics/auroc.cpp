#include "plait/metrics/auroc.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "plait/core/error.h"
#include "plait/metrics/inside/class_rows.h"
#include "plait/metrics/inside/metric_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"

namespace plait::metrics {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// All are [rows, classes].
struct Scores {
  Tensor scores, is_positive, counts;
};

int64_t expect_options(const AurocOptions& options) {
  if (options.average == Average::micro) {
    throw ValueError("the average is micro, expected macro, weighted or none")
        .at(Location::of_caller());
  }
  return expect_classes(options.of, options.num_classes);
}

Scores scores_of(const AurocOptions& options, const Tensor& predictions, const Tensor& targets,
                 const Tensor& mask) {
  auto [scores, actual, counts] =
      rows_of(options.of, options.num_classes, predictions, targets, mask);
  if (scores.rank() != 2 || !is_floating(scores.dtype())) {
    throw TypeError("the predictions are {}, expected scores", predictions.type().text())
        .at(Location::of_caller());
  }
  if (options.of.task != Task::multiclass) return {exact(scores), actual != 0, counts};
  const Tensor is_positive =
      one_hot(where(counts, actual, 0), *options.num_classes, DType::boolean);
  return {exact(scores), is_positive, broadcast_to(expand_dims(counts, 1), is_positive.shape())};
}

Tensor averaged(const AurocOptions& options, const Tensor& areas, const Tensor& positives) {
  if (options.of.task == Task::binary) return squeeze(areas, 0);
  switch (options.average) {
    case Average::weighted: return quotient(sum(areas * exact(positives)), sum(positives));
    case Average::none: return areas;
    case Average::macro:
    case Average::micro: break;
  }
  return mean(areas);
}

Tensor joined(const Tensor& a, const Tensor& b) {
  const Tensor parts[] = {a, b};
  return concat(parts, 0);
}

}  // namespace

AUROC AUROC::init(const AurocOptions& options) {
  const Call call("metrics::AUROC");
  const Shape shape{0, expect_options(options)};
  return {.options = options,
          .scores = zeros(shape, DType::f64),
          .is_positive = zeros(shape, DType::boolean),
          .counts = zeros(shape, DType::boolean)};
}

AUROC AUROC::update(const Tensor& predictions, const Tensor& targets, const Tensor& mask) const {
  const Call call("metrics::AUROC", predictions, targets);
  const Scores batch = scores_of(options, predictions, targets, mask);
  return merge({.options = options,
                .scores = batch.scores,
                .is_positive = batch.is_positive,
                .counts = batch.counts});
}

AUROC AUROC::merge(const AUROC& other) const {
  expect_same_options(key_of(*this), key_of(other));
  return map_leaves(joined, *this, other);
}

AUROC AUROC::all_reduce(std::string_view axis) const {
  return map_leaves(*this, [&](const Tensor& x) {
    const Tensor all = all_gather(x, axis);
    return reshape(all, {all.shape(0) * all.shape(1), all.shape(2)});
  });
}

AUROC AUROC::reset() const {
  return map_leaves(*this, [](const Tensor& x) { return slice_axis(x, 0, 0, 0); });
}

Tensor AUROC::compute() const {
  // [classes, rows]
  const Tensor all = matrix_transpose(scores), counted = matrix_transpose(counts);
  const Tensor of_class = matrix_transpose(is_positive);
  const Tensor positive = counted & of_class, negative = counted & ~of_class;
  // The ranks of the positives among the negatives.
  const Tensor others = sort(where(negative, all, kInfinity), -1);
  const Tensor number = sum(negative, -1, true);
  const auto below = [&](SearchSide side) {
    return minimum(searchsorted(others, all, side), number);
  };
  const Tensor pairs = below(SearchSide::left) + below(SearchSide::right);
  const Tensor positives = sum(positive, -1);
  const Tensor areas =
      quotient(sum(where(positive, pairs, 0), -1), positives * squeeze(number, 1) * 2);
  const Tensor has_nan = any(isnan(all) & counted, -1);
  return averaged(options, where(has_nan, kNan, areas), positives);
}

BinnedAUROC BinnedAUROC::init(std::vector<double> thresholds, const AurocOptions& options) {
  const Call call("metrics::BinnedAUROC");
  const int64_t classes = expect_options(options);
  std::ranges::sort(thresholds);
  const Tensor nothing = zeros({classes, static_cast<int64_t>(thresholds.size()) + 1}, DType::i64);
  return {.options = options,
          .thresholds = std::move(thresholds),
          .positives = nothing,
          .negatives = nothing};
}

BinnedAUROC BinnedAUROC::init(int64_t thresholds, const AurocOptions& options) {
  const Call call("metrics::BinnedAUROC");
  if (thresholds < 2) {
    throw ValueError("thresholds is {}, expected 2 or more, or a list", thresholds)
        .at(Location::of_caller());
  }
  std::vector<double> even;
  for (int64_t i = 0; i < thresholds; ++i) {
    even.push_back(static_cast<double>(i) / static_cast<double>(thresholds - 1));
  }
  return init(std::move(even), options);
}

BinnedAUROC BinnedAUROC::update(const Tensor& predictions, const Tensor& targets,
                                const Tensor& mask) const {
  const Call call("metrics::BinnedAUROC", predictions, targets);
  const Scores batch = scores_of(options, predictions, targets, mask);
  const Tensor edges = constants(thresholds);
  const Dim bins = positives.shape(1), classes = positives.shape(0);
  const Shape flat{batch.scores.shape().element_count()};
  const Tensor bin = searchsorted(edges, reshape(batch.scores, flat), SearchSide::right);
  const Tensor place = reshape(bin, batch.scores.shape()) + iota(classes) * bins;
  const auto histogram_of = [&](const Tensor& counts) {
    return reshape(occurrences(reshape(place, flat), reshape(counts, flat), classes * bins),
                   {classes, bins});
  };
  BinnedAUROC next = *this;
  next.positives = positives + histogram_of(batch.counts & batch.is_positive);
  next.negatives = negatives + histogram_of(batch.counts & ~batch.is_positive);
  return next;
}
BinnedAUROC BinnedAUROC::merge(const BinnedAUROC& other) const { return sum_of_both(*this, other); }
BinnedAUROC BinnedAUROC::all_reduce(const AxisNames& names) const {
  return sum_along_axes(*this, names);
}
BinnedAUROC BinnedAUROC::reset() const { return of_no_data(*this); }

Tensor BinnedAUROC::compute() const {
  const Tensor below = cumsum(negatives, -1) - negatives;
  const Tensor number = sum(positives, -1);
  const Tensor areas =
      quotient(sum(positives * (below * 2 + negatives), -1), number * sum(negatives, -1) * 2);
  return averaged(options, areas, number);
}

}  // namespace plait::metrics
