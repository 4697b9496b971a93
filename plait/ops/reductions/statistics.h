// Statistics. Without axes, over all elements.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {

// Variance and standard deviation, with the divisor count − correction. Real for complex numbers.
Tensor var(const Tensor& x, const Axes& axes = {}, double correction = 0, bool keepdims = false);
Tensor stddev(const Tensor& x, const Axes& axes = {}, double correction = 0, bool keepdims = false);

// log Σ eˣ, without overflow; −∞ if all elements are −∞, or if there are none.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// (Σ |x|^order)^(1/order); the greatest |x| for ∞, the least for −∞, the number of nonzero elements
// for 0. The derivative at 0 is 0.
Tensor norm(const Tensor& x, double order = 2, const Axes& axes = {}, bool keepdims = false);

Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  // i64

// The middle element, or the mean of the two middle ones. NaN if any element is NaN.
Tensor median(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
// The q-quantile for q in [0, 1], linearly interpolated. NaN if any element is NaN. A vector q adds
// a leading dimension.
Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis = {},
                bool keepdims = false);

// Statistics that ignore NaN. If all elements are NaN, the result is NaN, except for sums (0) and
// products (1).
Tensor nansum(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanprod(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmax(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmin(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanmean(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
Tensor nanvar(const Tensor& x, const Axes& axes = {}, double correction = 0, bool keepdims = false);
Tensor nanstd(const Tensor& x, const Axes& axes = {}, double correction = 0, bool keepdims = false);
Tensor nanmedian(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
Tensor nanquantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis = {},
                   bool keepdims = false);

// Covariance of the rows of a matrix over its columns, with the divisor count − correction; and the
// correlation coefficients. A vector is a single row. For complex rows, the second factor is
// conjugated.
Tensor cov(const Tensor& x, double correction = 1);
Tensor corrcoef(const Tensor& x);

// Differences of consecutive elements, `times` times; for bool, whether they differ.
Tensor diff(const Tensor& x, int64_t times = 1, int64_t axis = -1);

// The number of occurrences of each integer from 0 to length − 1 in a vector, as i64, or the sums
// of their `weights`. Without a length, x is read, and it is the greatest number plus one. Throws
// IndexError for a number out of range.
Tensor bincount(const Tensor& x, std::optional<Dim> length = {}, const Tensor& weights = {});

// Counts of the numbers between consecutive edges: of `bins` equal bins from `low` to `high`, or of
// given edges. The last bin includes its upper edge. Numbers outside are ignored.
struct Histogram {
  Tensor counts;  // i64
  Tensor edges;   // one more than counts
};
Histogram histogram(const Tensor& x, int64_t bins, double low, double high);
Histogram histogram(const Tensor& x, const Tensor& edges);

}  // namespace plait
