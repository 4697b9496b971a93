#include "plait/ops/elementwise/curves.h"

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"
#include "plait/ops/reductions/statistics.h"

namespace plait {
namespace {

// The mean of each element and the next one along an axis.
Tensor means_of_neighbours(const Tensor& y, int64_t axis) {
  const Tensor x = astype(y, inexact(y.dtype()));
  const Dim size = x.shape(axis), count = max(size - 1, 0);
  const Tensor earlier = slice_axis(x, axis, 0, count);
  return (earlier + slice_axis(x, axis, min(size, 1), count)) * 0.5;
}

// Distances between neighbours, with sizes that broadcast to their means.
Tensor widths(std::string_view function, const Tensor& y, const Tensor& places, int64_t axis) {
  const Dim size = y.shape(axis);
  const bool is_vector = places.rank() == 1 && !differ(places.shape(0), size);
  if (!is_vector && (places.rank() != y.rank() || differ(places.shape(axis), size))) {
    throw ShapeError("{}: the positions {} do not match {} elements along axis {} of {}", function,
                     places.type().text(), size, axis, y.type().text())
        .at(Location::of_caller());
  }
  if (!is_vector) return diff(places, 1, axis);
  Shape shape = Shape::of_sizes(Sizes(y.rank(), 1));
  const Tensor between = diff(places);
  shape.set(axis, between.shape(0));
  return reshape(between, shape);
}

}  // namespace

Tensor interp(const Tensor& x, const Tensor& places, const Tensor& values) {
  const Call call("interp", x, places, values);
  if (places.rank() != 1 || values.rank() != 1 || differ(places.shape(0), values.shape(0))) {
    throw ShapeError("interp: positions {} and values {} must be vectors of equal length",
                     places.type().text(), values.type().text())
        .at(Location::of_caller());
  }
  // An infinite part must not make the other one NaN.
  if (is_complex(values.dtype())) {
    return make_complex(interp(x, places, real(values)), interp(x, places, imag(values)));
  }
  const DType dtype = inexact(common_dtype(x, places));
  const Tensor at = astype(x, dtype), known = astype(places, dtype);
  const Dim last = places.shape(0) - 1;
  const Tensor next = searchsorted(known, at, SearchSide::right);
  const Tensor low = clip(next - 1, 0, last), high = minimum(next, last);
  const Tensor from = take(known, low), to = take(known, high);
  const Tensor below = take(values, low), above = take(values, high);
  // At a position, between equal values and beyond the ends the value is that of the lower end,
  // which inf - inf, 0 · inf and 0 / 0 would make NaN.
  const Tensor is_low = equal(low, high) | equal(at, from) | equal(below, above);
  const Tensor rise = where(is_low & ~isfinite(above - below), 0, above - below);
  const Tensor is_whole = is_low & ~isfinite((at - from) / (to - from));
  const Tensor gap = where(is_whole, 1, to - from);
  const auto share_from = [&](const Tensor& end) { return where(is_whole, 0, at - end) / gap; };
  // Where the way from the lower end is NaN, the other may be a number.
  const Tensor is_upper = ~is_low & isnan(below + share_from(from) * rise);
  const Tensor result =
      where(is_upper, above, below) + share_from(where(is_upper, to, from)) * rise;
  const Tensor is_lost = isnan(from) & not_equal(below, take(values, minimum(low + 1, last)));
  return where(isnan(at) | is_lost, std::numeric_limits<double>::quiet_NaN(), result);
}

Tensor trapezoid(const Tensor& y, double step, int64_t axis) {
  const Call call("trapezoid", y);
  return sum(means_of_neighbours(y, axis), axis) * step;
}

Tensor trapezoid(const Tensor& y, const Tensor& places, int64_t axis) {
  const Call call("trapezoid", y, places);
  const Tensor width = widths("trapezoid", y, places, axis);
  return sum(means_of_neighbours(y, axis) * width, axis);
}

Tensor cumulative_trapezoid(const Tensor& y, double step, int64_t axis) {
  const Call call("cumulative_trapezoid", y);
  return cumsum(means_of_neighbours(y, axis), axis) * step;
}

Tensor cumulative_trapezoid(const Tensor& y, const Tensor& places, int64_t axis) {
  const Call call("cumulative_trapezoid", y, places);
  const Tensor width = widths("cumulative_trapezoid", y, places, axis);
  return cumsum(means_of_neighbours(y, axis) * width, axis);
}

}  // namespace plait
