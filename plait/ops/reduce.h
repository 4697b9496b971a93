// Reductions: one number out of all those along some axes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

struct ReduceAttributes {
  std::vector<int64_t> axes = {};  // in ascending order
  static constexpr std::string_view kRequired[] = {"axes"};
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
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  // NaN where one is
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  // of integers: f32

void register_reduce_ops();

}  // namespace plait
