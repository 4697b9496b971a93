// Reductions: one number out of all those along some axes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

struct ReduceAttributes {
  std::vector<int64_t> axes = {};  // in ascending order
  bool needs_some = false;         // of maximum and minimum: fails where there is nothing along one
  static constexpr std::string_view kRequired[] = {"axes"};
};

// Of argmax and argmin.
struct ArgExtremeAttributes {
  int64_t axis = 0;
  static constexpr std::string_view kRequired[] = {"axis"};
};

// The axes of a reduction: some, from the end where negative, or all of them.
class Axes {
 public:
  Axes() = default;                                                           // all
  Axes(int64_t axis) : axes_{axis}, is_all_(false) {}                         // NOLINT
  Axes(std::initializer_list<int64_t> axes) : axes_(axes), is_all_(false) {}  // NOLINT
  Axes(const std::vector<int64_t>& axes) : axes_(axes), is_all_(false) {}     // NOLINT
  // Sorted, from the beginning; ValueError for one that is there twice.
  std::vector<int64_t> within(size_t rank) const;

 private:
  std::vector<int64_t> axes_;
  bool is_all_ = true;
};

// Integers narrower than 64 bits, and bool, are added and multiplied as i64 or u64.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// Of complex numbers that of |x|².
Tensor sum_of_squares(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  // NaN where one is
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  // of integers: f32

// Where the greatest or the least is, as i64: the first of those alike, or the first NaN. Without
// an axis, among all elements in row-major order.
Tensor argmax(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
// What sums and products are made in: i64 or u64 instead of narrower integers and bool.
Tensor widened(const Tensor& x);

void register_reduce_ops();
void register_arg_extreme_ops();

}  // namespace plait
