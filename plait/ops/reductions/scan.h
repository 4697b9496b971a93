// Cumulative reductions along an axis: over the elements up to each one or, with `reverse`, from
// each one on.
#pragma once

#include <cstdint>

#include "plait/ops/operand.h"

namespace plait {

// Integers narrower than 64 bits, and bool, are accumulated in i64 or u64.
Tensor cumsum(const Tensor& x, int64_t axis, bool reverse = false);
Tensor cumprod(const Tensor& x, int64_t axis, bool reverse = false);
Tensor cummax(const Tensor& x, int64_t axis, bool reverse = false);  // NaN from the first NaN on
Tensor cummin(const Tensor& x, int64_t axis, bool reverse = false);
Tensor logcumsumexp(const Tensor& x, int64_t axis, bool reverse = false);  // log Σ eˣ
// h[k] = a[k]·h[k−1] + b[k], with h[−1] = 0.
Tensor linear_recurrence(const Tensor& a, const Tensor& b, int64_t axis, bool reverse = false);
// The previous element along the axis, or the next one with `reverse`; `first` where none exists.
Tensor shifted(const Tensor& x, int64_t axis, bool reverse, const Operand& first);

void register_scan_ops();

}  // namespace plait
