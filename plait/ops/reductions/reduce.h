// Reductions along axes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

// The axes of a reduction; negative ones count from the end. All axes by default.
class Axes {
 public:
  Axes() = default;                                                           // all axes
  Axes(int64_t axis) : axes_{axis}, is_all_(false) {}                         // NOLINT
  Axes(std::initializer_list<int64_t> axes) : axes_(axes), is_all_(false) {}  // NOLINT
  Axes(const std::vector<int64_t>& axes) : axes_(axes), is_all_(false) {}     // NOLINT
  // Sorted and nonnegative. Throws ValueError for repeated axes.
  std::vector<int64_t> within(size_t rank) const;

 private:
  std::vector<int64_t> axes_;
  bool is_all_ = true;
};

// Integers narrower than 64 bits, and bool, are accumulated in i64 or u64.
Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// Σ |x|², also for complex numbers.
Tensor sum_of_squares(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  // NaN if any is NaN
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  // integers are
                                                                             // converted to f32

// The index of the first greatest (least) element, or of the first NaN, as i64. Without an axis,
// the flat index in row-major order.
Tensor argmax(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Tensor argmin(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
// Converts integers narrower than 64 bits, and bool, to i64 or u64, for accumulation.
Tensor widened(const Tensor& x);

void register_reduce_ops();
void register_arg_extreme_ops();

}  // namespace plait
