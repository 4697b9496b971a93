#include "plait/ops/indexing/embedding.h"

#include <limits>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/segment.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/indexing/padding_row.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/sort.h"

namespace plait {
namespace {

void check_bags(const Tensor& ids, const Tensor& weight, const EmbeddingBagOptions& options) {
  const auto wrong = [](std::string_view what, const Tensor& given, std::string_view expected) {
    throw ShapeError("embedding_bag: {} {}, expected {}", what, given.type().text(), expected)
        .at(Location::of_caller());
  };
  if (!is_integer(ids.dtype())) {
    throw TypeError("embedding_bag: the ids are {}, expected integers", ids.type().text())
        .at(Location::of_caller());
  }
  if (weight.rank() != 2) wrong("the table is", weight, "[rows, width]");
  if (!kReals.contains(weight.dtype())) {
    throw TypeError("embedding_bag: the table is {}, expected real numbers", weight.type().text())
        .at(Location::of_caller());
  }
  const bool has_offsets = bool(options.offsets);
  if (ids.rank() != (has_offsets ? 1 : 2)) {
    wrong("the ids are", ids, has_offsets ? "a vector, beside offsets" : "[bags, ids], or offsets");
  }
  if (has_offsets && options.offsets.rank() != 1) {
    wrong("the offsets are", options.offsets, "a vector");
  }
  if (has_offsets && !is_integer(options.offsets.dtype())) {
    throw TypeError("embedding_bag: the offsets are {}, expected integers",
                    options.offsets.type().text())
        .at(Location::of_caller());
  }
  if (options.include_last_offset && (!has_offsets || same(options.offsets.shape(0), Dim(0)))) {
    throw ValueError("embedding_bag: include_last_offset needs offsets").at(Location::of_caller());
  }
  if (!options.per_sample_weights) return;
  if (options.mode != BagMode::sum) {
    throw ValueError("embedding_bag: per_sample_weights are for sums only")
        .at(Location::of_caller());
  }
  if (!same(options.per_sample_weights.shape(), ids.shape())) {
    wrong("the weights of samples are", options.per_sample_weights,
          "the shape of " + ids.type().text());
  }
}

// Reductions over the ids of each bag, for rows with the dimensions of the ids in front.
class Bags {
 public:
  Bags(const Tensor& ids, const EmbeddingBagOptions& options) {
    if (!options.offsets) return;
    const Tensor offsets = astype(options.offsets, DType::i64);
    const Dim ids_count = ids.shape(0), given = offsets.shape(0);
    count_ = options.include_last_offset ? given - 1 : given;
    check(ascends(offsets, ids_count),
          "embedding_bag: the offsets do not ascend from 0 to at most the number of ids");
    // Ids behind the last offset that is included are in a bag of their own.
    bag_ = searchsorted(offsets, iota(ids_count), SearchSide::right) - 1;
    with_rest_ = given;
  }

  Tensor sum(const Tensor& rows) const {
    return bag_ ? first(segment_sum(rows, bag_, with_rest_)) : plait::sum(rows, 1);
  }
  Tensor max(const Tensor& rows) const {
    return bag_ ? first(segment_max(rows, bag_, with_rest_)) : max_or_lowest(rows, 1, false);
  }

 private:
  static Tensor ascends(const Tensor& offsets, Dim ids_count) {
    const Tensor end = reshape(Operand(ids_count).as(DType::i64), {1});
    const Tensor begins = concat(std::vector{zeros({1}, DType::i64), offsets}),
                 ends = concat(std::vector{offsets, end});
    const Tensor is_first = equal(iota(begins.shape(0)), 1);
    return all(less_equal(begins, ends) & (logical_not(is_first) | equal(begins, 0)));
  }
  Tensor first(const Tensor& bags) const { return slice_axis(bags, 0, 0, count_); }

  Tensor bag_;
  Dim count_ = 0, with_rest_ = 0;
};

}  // namespace

Tensor embedding_bag(const Tensor& ids, const Tensor& weight, const EmbeddingBagOptions& options) {
  const Call call("embedding_bag", ids, weight, options.offsets, options.per_sample_weights);
  check_bags(ids, weight, options);
  const DType dtype = inexact(weight.dtype());
  const Bags bags(ids, options);
  Tensor counted;  // empty if all ids count
  if (options.padding_idx) {
    counted = logical_not(is_padding_row("embedding_bag", ids, weight, *options.padding_idx));
  }
  Tensor rows = astype(take(weight, ids, 0), computed(dtype));
  if (options.per_sample_weights) {
    rows = rows * expand_dims(astype(options.per_sample_weights, rows.dtype()), -1);
  }
  if (counted) rows = where(expand_dims(counted, -1), rows, 0);
  if (options.mode == BagMode::sum) return astype(bags.sum(rows), dtype);
  const Tensor is_counted =
      expand_dims(counted ? counted : full(ids.shape(), true, DType::boolean), -1);
  const Tensor counts = bags.sum(astype(is_counted, rows.dtype()));
  if (options.mode == BagMode::mean) return astype(bags.sum(rows) / maximum(counts, 1), dtype);
  const double lowest = -std::numeric_limits<double>::infinity();
  const Tensor maxima = bags.max(counted ? where(is_counted, rows, lowest) : rows);
  return astype(where(equal(counts, 0), 0, maxima), dtype);
}

}  // namespace plait
