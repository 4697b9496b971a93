// Elements in order along an axis. A NaN counts as the greatest, −0 and 0 as alike, and those alike
// stay in the order that they have.
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
  bool values_only = false;  // else the permutation too
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
  bool equal_nan = true;  // else each NaN differs from all others
};

struct Ordered {
  Tensor values;
  Tensor indices;  // where each was, i64
};

Tensor sort(const Tensor& x, int64_t axis = -1, bool descending = false);
Tensor argsort(const Tensor& x, int64_t axis = -1, bool descending = false);
Ordered sort_with_indices(const Tensor& x, int64_t axis = -1, bool descending = false);

// The `count` largest, or smallest, in order: ValueError where there are fewer.
Ordered topk(const Tensor& x, Dim count, int64_t axis = -1, bool largest = true);

// What is before the place `kth` is not greater than what is there, what is behind it not less;
// here because all is in order.
Tensor partition(const Tensor& x, int64_t kth, int64_t axis = -1);
Tensor argpartition(const Tensor& x, int64_t kth, int64_t axis = -1);

// Where each value would go into `sorted` so that it stays in order: before those alike (left) or
// behind them (right). `sorted` is a vector, or has the sizes of the values in all dimensions but
// the last. With a `sorter`, it is `sorted` picked by that which is in order.
Tensor searchsorted(const Tensor& sorted, const Tensor& values, SearchSide side = SearchSide::left);
Tensor searchsorted(const Tensor& sorted, const Tensor& values, SearchSide side,
                    const Tensor& sorter);

// The different elements in ascending order, and for all elements, in row-major order, where each
// went, and how often each is there. NaNs are alike where `equal_nan`.
struct Unique {
  Tensor values;
  Tensor inverse;  // of the sizes of x, or of its size along the axis
  Tensor counts;
  Tensor indices;  // where the first of each is
};
// With an axis, of the parts along it, which are compared by their first element that differs; how
// large they are must be known.
Unique unique(const Tensor& x, std::optional<int64_t> axis = {}, bool equal_nan = true);

void register_sort_ops();

}  // namespace plait
