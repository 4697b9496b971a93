// Running results along an axis: of the elements up to each one, or by `reverse` from each one on.
#pragma once

#include <cstdint>
#include <string_view>

#include "plait/ops/operand.h"

namespace plait {

struct ScanAttributes {
  int64_t axis = 0;
  bool reverse = false;
  static constexpr std::string_view kRequired[] = {"axis"};
};

// Integers narrower than 64 bits, and bool, are added and multiplied as i64 or u64.
Tensor cumsum(const Tensor& x, int64_t axis, bool reverse = false);
Tensor cumprod(const Tensor& x, int64_t axis, bool reverse = false);
Tensor cummax(const Tensor& x, int64_t axis, bool reverse = false);  // NaN from the first one on
Tensor cummin(const Tensor& x, int64_t axis, bool reverse = false);
Tensor logcumsumexp(const Tensor& x, int64_t axis, bool reverse = false);  // log Σ eˣ
// h[k] = a[k]·h[k−1] + b[k], with 0 before the first.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, int64_t axis, bool reverse = false);
// What stands before each element along the axis, or behind it by `reverse`; `first` where nothing
// does.
Tensor shifted(const Tensor& x, int64_t axis, bool reverse, const Operand& first);

void register_scan_ops();

}  // namespace plait
