// Sorting and searching along an axis. Sorts are stable. NaN counts as the greatest value; −0 and 0
// are equal.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

struct SortAttributes {
  int64_t axis = 0;
  bool descending = false;
  bool values_only = false;  // without the permutation
  static constexpr std::string_view kRequired[] = {"axis"};
};
struct TopkAttributes {
  int64_t axis = 0;
  Dim count = 0;
  bool largest = true;
  static constexpr std::string_view kRequired[] = {"axis", "count"};
};
enum class SearchSide : uint8_t { left, right };
std::span<const std::string_view> enumerator_names(SearchSide);
struct SearchAttributes {
  SearchSide side = SearchSide::left;
};
struct UniqueAttributes {
  bool equal_nan = true;  // otherwise each NaN is distinct
};

struct Ordered {
  Tensor values;
  Tensor indices;  // i64
};

Tensor sort(const Tensor& x, int64_t axis = -1, bool descending = false);
Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false);
Ordered sort_with_indices(const Tensor& x, int64_t axis = -1, bool descending = false);

// The `count` largest or smallest elements, in order. Throws ValueError if there are fewer.
Ordered topk(const Tensor& x, Dim count, int64_t axis = -1, bool largest = true);

// Elements before `kth` are not greater than the one at `kth`, those behind it not less.
// Implemented as a full sort.
Tensor partition(const Tensor& x, int64_t kth, int64_t axis = -1);
Tensor argpartition(const Tensor& x, int64_t kth, int64_t axis = -1);

// The index at which each value can be inserted so that `sorted` stays in order: before equal
// elements (left) or after them (right). `sorted` is a vector, or agrees with the values in all
// sizes but the last. With a `sorter`, it is `sorted` indexed by the sorter that is in order.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, SearchSide side = SearchSide::left);
Tensor searchsorted(const Tensor& sorted, const Tensor& values, SearchSide side,
                    const Tensor& sorter);

// The distinct elements in ascending order and, for all elements in row-major order, the index of
// each in `values`, and the number of occurrences. All NaNs are equal if `equal_nan`.
struct Unique {
  Tensor values;
  Tensor inverse;  // has the shape of x; with an axis, one entry per slice
  Tensor counts;
  Tensor indices;  // first occurrence of each
};
// With an axis, compares whole slices along it, in lexicographic order; their size must not be
// symbolic.
Unique unique(const Tensor& x, std::optional<int64_t> axis = {}, bool equal_nan = true);

void register_sort_ops();

}  // namespace plait
