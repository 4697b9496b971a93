// What can be said of many numbers. Without axes, of all of them together.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {

// The mean of the squared distances from the mean; divided by the count less `correction`. Of
// complex numbers, real.
Tensor var(const Tensor& x, const Axes& axes = {}, double correction = 0, bool keepdims = false);
Tensor stddev(const Tensor& x, const Axes& axes = {}, double correction = 0, bool keepdims = false);

// log Σ eˣ, without overflow: −∞ where all are −∞, and of nothing.
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdims = false);
// (Σ |x|^order)^(1/order); ∞ gives the greatest |x|, −∞ the least, 0 how many are not 0. Where it
// is 0, its derivative is taken for 0.
Tensor norm(const Tensor& x, double order = 2, const Axes& axes = {}, bool keepdims = false);

Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, bool keepdims = false);  // i64

// Of two in the middle, their mean. NaN where one is.
Tensor median(const Tensor& x, std::optional<int64_t> axis = {}, bool keepdims = false);
// The number below which a share `q` in [0, 1] lies, on the straight line between two neighbours.
// NaN where one is. A vector of shares gives one more dimension, in front.
Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis = {},
                bool keepdims = false);

// Of those that are not NaN; where all are, NaN, but for sums and products.
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

// How the rows of a matrix vary together: the mean over the columns of the product of their
// distances from their means, divided by the count less `correction`. Divided by both deviations
// also: their correlation. A vector is one row; of complex rows the second is conjugated.
Tensor cov(const Tensor& x, double correction = 1);
Tensor corrcoef(const Tensor& x);

// Each element less the one before it, `times` over; of bool, whether they differ.
Tensor diff(const Tensor& x, int64_t times = 1, int64_t axis = -1);

// How often each of 0 to length − 1 is in a vector of whole numbers, as i64, or the sum of the
// `weights` of each. Without a length it is the greatest number and one, which is read; IndexError
// for a number outside.
Tensor bincount(const Tensor& x, std::optional<Dim> length = {}, const Tensor& weights = {});

// How many numbers lie between neighbouring edges: of `bins` alike bins from `low` to `high`, which
// belongs to the last. Numbers outside are not counted.
struct Histogram {
  Tensor counts;  // i64
  Tensor edges;   // one more
};
Histogram histogram(const Tensor& x, int64_t bins, double low, double high);
Histogram histogram(const Tensor& x, const Tensor& edges);

}  // namespace plait
