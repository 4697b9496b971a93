#include "plait/ops/reductions/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/indexing/segment.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/blockwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Converts to the accumulation dtype, at least f32.
Tensor wide_enough(const Tensor& x) {
  const DType dtype = inexact(x.dtype());
  return astype(x, size_of(dtype) < size_of(DType::f32) ? DType::f32 : dtype);
}

// The real dtype of a result that was computed from wide_enough(x).
Tensor narrowed(const Tensor& result, const Tensor& x) {
  return astype(result, real_dtype(inexact(x.dtype())));
}

Dim count_along(const Tensor& x, const Axes& axes) {
  Dim count = 1;
  for (const int64_t axis : axes.within(x.rank())) count = count * x.shape(axis);
  return count;
}

// The root, with a derivative of 0 instead of infinity at 0.
Tensor root(const Tensor& x, double order) {
  const Tensor is_zero = x == 0;
  const Tensor safe = where(is_zero, 1, x);
  return where(is_zero, 0, order == 2 ? sqrt(safe) : power(safe, 1 / order));
}

// Moves the axis to the end, or merges all dimensions.
Tensor with_axis_last(const Tensor& x, std::optional<int64_t> axis) {
  return axis ? moveaxis(x, *axis, -1) : flatten(x);
}

// Restores reduced dimensions as ones, behind `leading` dimensions.
Tensor with_kept_axis(const Tensor& result, const Tensor& x, std::optional<int64_t> axis,
                      size_t leading = 0) {
  if (axis) {
    return expand_dims(result, static_cast<int64_t>(leading) + normal_axis(*axis, x.rank()));
  }
  Shape shape(result.shape().dims().first(leading));
  for (size_t i = 0; i < x.rank(); ++i) shape.append(1);
  return reshape(result, shape);
}

// Sorts along the axis, which becomes the last one.
Tensor ordered(std::string_view function, const Tensor& x, std::optional<int64_t> axis) {
  const Tensor rows = with_axis_last(x, axis);
  if (same(rows.shape(-1), Dim(0))) {
    throw ValueError("{}: {} is empty", function, x.type().text()).at(Location::of_caller());
  }
  return sort(astype(rows, inexact(x.dtype())), -1);
}

// NaN if any element is NaN: it would be the last one.
Tensor unless_nan(const Tensor& result, const Tensor& ordered) {
  const Tensor last = slice_axis(ordered, -1, ordered.shape(-1) - 1, 1);
  return where(isnan(last), std::numeric_limits<double>::quiet_NaN(), result);
}

// As far as the edges are concrete.
void check_edges(const Tensor& edges) {
  if (edges.rank() != 1 || same(edges.shape(0), Dim(0))) {
    throw ShapeError("histogram: the edges {} are not a vector of at least one element",
                     edges.type().text())
        .at(Location::of_caller());
  }
  if (!kOrdered.contains(edges.dtype())) {
    throw TypeError("histogram: the edges {} are not of an ordered dtype", edges.type().text())
        .at(Location::of_caller());
  }
  if (edges.is_traced()) return;
  const Array numbers = edges.array().on_host().converted(DType::f64).contiguous();
  const auto each = numbers.elements<double>();
  const auto descends = [](double a, double b) { return !(a <= b); };
  if (std::ranges::adjacent_find(each, descends) == each.end()) return;
  throw ValueError("histogram: the edges {} are not in ascending order", edges.type().text())
      .at(Location::of_caller());
}

// For a vector x.
bool differ_in_size(const Tensor& weights, const Tensor& x) {
  if (weights.rank() != 1) return true;
  const Dim given = weights.shape(0), wanted = x.shape(0);
  return given.is_number() && wanted.is_number() && !same(given, wanted);
}

// As far as the fractions are concrete.
void check_shares(std::string_view function, const Operand& q) {
  if (q.is_tensor() && !kReals.contains(q.tensor().dtype())) {
    throw TypeError("{}: fractions are real numbers, not {}", function, q.tensor().type().text())
        .at(Location::of_caller());
  }
  if (q.is_tensor() ? q.tensor().is_traced() : q.scalar().is_symbolic()) return;
  const auto check = [&](double share) {
    if (share >= 0 && share <= 1) return;
    throw ValueError("{}: the fraction is {}, expected 0 to 1", function, share)
        .at(Location::of_caller());
  };
  if (!q.is_tensor()) return check(number_of(q.scalar()));
  const Array shares = q.tensor().array().on_host().converted(DType::f64).contiguous();
  for (const double share : shares.elements<double>()) check(share);
}

// Σ |distance|² divided by count − correction.
Tensor variance(const Tensor& distance, const Operand& count, const Axes& axes, double correction,
                bool keepdims) {
  expect_number("correction", correction);
  const Tensor total = sum_of_squares(distance, axes, keepdims);
  return total / maximum(count.as(total.dtype()) - correction, 0);
}

constexpr auto kTotal = [](const Tensor& parts, const Axes& axes) { return sum(parts, axes); };

constexpr auto kLogOfSum = [](const Tensor& x, const Axes& axes) {
  const Tensor numbers = wide_enough(x);
  const Tensor most = stop_gradient(max_or_lowest(numbers, axes, true));
  const Tensor shift = where(isfinite(most), most, 0);
  const Tensor sum_of_exp = sum(exp(numbers - shift), axes), is_zero = sum_of_exp == 0;
  const Tensor logarithm = where(is_zero, -kInfinity, log(where(is_zero, 1, sum_of_exp)));
  return logarithm + reshape(shift, sum_of_exp.shape());
};

Tensor mean_of_numbers(const Tensor& numbers, const Axes& axes, bool keepdims) {
  const Tensor is_missing = isnan(numbers);
  const Tensor total = sum(where(is_missing, 0, numbers), axes, keepdims);
  return total / astype(sum(~is_missing, axes, keepdims), total.dtype());
}

// Replaces each NaN by the neutral element, unless all elements along the axes are NaN.
Tensor without_nan(const Tensor& x, Combine combine, const Axes& axes) {
  if (!is_floating(x.dtype())) return x;
  const Tensor is_missing = isnan(x);
  return where(is_missing & ~all(is_missing, axes, true), neutral_of(combine, x.dtype()), x);
}

// The q-quantile, for a number or a vector q. Without `skips_nan`, NaN if any element is NaN.
Tensor quantile_of(std::string_view function, const Tensor& x, const Operand& q,
                   std::optional<int64_t> axis, bool keepdims, bool skips_nan) {
  check_shares(function, q);
  const Tensor shares = to_device(q.as(DType::f64), x.device());
  if (shares.rank() > 1) {
    throw ShapeError("{}: expected one fraction or a vector of them, not {}", function,
                     shares.type().text())
        .at(Location::of_caller());
  }
  const Tensor rows = ordered(function, x, axis);
  const Dim size = rows.shape(-1);
  const Tensor last =
      skips_nan ? maximum(sum(~isnan(rows), -1, true), 1) - 1 : Operand(size - 1).as(DType::i64);
  // In a trace a bad fraction cannot be refused: its quantile is NaN.
  const bool is_known = !shares.is_traced();
  const Tensor fractions = flatten(shares), is_share = (fractions >= 0) & (fractions <= 1);
  const Tensor place = (is_known ? fractions : where(is_share, fractions, 0)) * last;
  const Tensor below = floor(place);
  Shape shape = rows.shape();
  shape.set(-1, shares.shape().element_count());
  const auto at = [&](const Tensor& places) {
    return take_along_axis(rows, broadcast_to(astype(places, DType::i64), shape), -1);
  };
  const Tensor low = at(below), high = at(ceil(place));
  const Tensor weight = astype(place - below, rows.dtype());
  const Tensor between = where(low == high, low, low * (1 - weight) + high * weight);
  const Tensor known = is_known ? between : where(is_share, between, kNaN);
  Tensor result = moveaxis(skips_nan ? known : unless_nan(known, rows), -1, 0);
  if (keepdims) result = with_kept_axis(result, x, axis, 1);
  return shares.rank() == 0 ? squeeze(result, 0) : result;
}

}  // namespace

Tensor var(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  const Call call("var", x);
  const Operand count(count_along(x, axes));
  const auto variance_of = [&](const Tensor& part, const Axes& along) {
    const Tensor numbers = wide_enough(part);
    return variance(numbers - mean(numbers, along, true), count, along, correction, false);
  };
  return narrowed(reduce_blockwise(x, axes, keepdims, variance_of), x);
}

Tensor stddev(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  const Call call("stddev", x);
  return root(var(x, axes, correction, keepdims), 2);
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("logsumexp", x);
  if (same(count_along(x, axes), Dim(0))) {
    return narrowed(log(sum(exp(wide_enough(x)), axes, keepdims)), x);
  }
  return narrowed(reduce_blockwise(x, axes, keepdims, kLogOfSum, kLogOfSum), x);
}

Tensor norm(const Tensor& x, double order, const Axes& axes, bool keepdims) {
  const Call call("norm", x);
  if (std::isnan(order)) throw ValueError("norm: the order is NaN").at(Location::of_caller());
  if (order == 0) return narrowed(count_nonzero(x, axes, keepdims), x);
  if (order == 2) {
    const auto squares = [](const Tensor& part, const Axes& along) {
      return sum_of_squares(wide_enough(part), along);
    };
    return narrowed(root(reduce_blockwise(x, axes, keepdims, squares, kTotal), 2), x);
  }
  const Tensor numbers = wide_enough(x);
  const Tensor sizes = absolute(numbers);
  if (order == kInfinity) return narrowed(max(sizes, axes, keepdims), x);
  if (order == -kInfinity) return narrowed(min(sizes, axes, keepdims), x);
  if (order == 1) return narrowed(sum(sizes, axes, keepdims), x);
  return narrowed(root(sum(power(sizes, order), axes, keepdims), order), x);
}

Tensor count_nonzero(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("count_nonzero", x);
  const auto count = [](const Tensor& part, const Axes& along) {
    return sum(astype(part, DType::boolean), along);
  };
  return reduce_blockwise(x, axes, keepdims, count, kTotal);
}

Tensor median(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const Call call("median", x);
  const Tensor rows = ordered("median", x, axis);
  const Dim size = rows.shape(-1);
  const Tensor low = slice_axis(rows, -1, floor_div(size - 1, 2), 1);
  const Tensor high = slice_axis(rows, -1, floor_div(size, 2), 1);
  // Halves first, so that the sum does not overflow; equal numbers are returned, also infinite
  // ones.
  const Tensor middle = where(low == high, low, low * 0.5 + high * 0.5);
  const Tensor result = squeeze(unless_nan(middle, rows), -1);
  return keepdims ? with_kept_axis(result, x, axis) : result;
}

Tensor quantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis, bool keepdims) {
  const Call call("quantile", x, q);
  return quantile_of("quantile", x, q, axis, keepdims, false);
}

Tensor nansum(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("nansum", x);
  if (is_integer(x.dtype()) || is_boolean(x.dtype())) return sum(x, axes, keepdims);
  const auto numbers = [](const Tensor& part, const Axes& along) {
    const Tensor wide = wide_enough(part);
    return sum(where(isnan(wide), 0, wide), along);
  };
  return astype(reduce_blockwise(x, axes, keepdims, numbers, kTotal), x.dtype());
}

Tensor nanprod(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("nanprod", x);
  return prod(where(isnan(x), 1, x), axes, keepdims);
}

Tensor nanmax(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("nanmax", x);
  return max(without_nan(x, Combine::maximum, axes), axes, keepdims);
}

Tensor nanmin(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("nanmin", x);
  return min(without_nan(x, Combine::minimum, axes), axes, keepdims);
}

Tensor nanmean(const Tensor& x, const Axes& axes, bool keepdims) {
  const Call call("nanmean", x);
  return astype(mean_of_numbers(wide_enough(x), axes, keepdims), inexact(x.dtype()));
}

Tensor nanvar(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  const Call call("nanvar", x);
  const Tensor numbers = wide_enough(x), is_missing = isnan(numbers);
  const Tensor distance = numbers - mean_of_numbers(numbers, axes, true);
  return narrowed(variance(where(is_missing, 0, distance), sum(~is_missing, axes, keepdims), axes,
                           correction, keepdims),
                  x);
}

Tensor nanstd(const Tensor& x, const Axes& axes, double correction, bool keepdims) {
  const Call call("nanstd", x);
  return root(nanvar(x, axes, correction, keepdims), 2);
}

Tensor nanmedian(const Tensor& x, std::optional<int64_t> axis, bool keepdims) {
  const Call call("nanmedian", x);
  return quantile_of("nanmedian", x, 0.5, axis, keepdims, true);
}

Tensor nanquantile(const Tensor& x, const Operand& q, std::optional<int64_t> axis, bool keepdims) {
  const Call call("nanquantile", x, q);
  return quantile_of("nanquantile", x, q, axis, keepdims, true);
}

namespace {
// In a trace, an unknown size is assumed not to be 1.
bool is_one(Dim size) {
  Trace* const trace = Trace::current();
  const bool is_known = size.is_number() || (trace != nullptr && trace->sizes().actual(size));
  if (!is_known) return !sizes_hold({size, SizeFact::not_equal, 1});
  return trace == nullptr ? same(size, Dim(1)) : trace->sizes().decide({size, SizeFact::equal, 1});
}
}  // namespace

Tensor cov(const Tensor& x, double correction) {
  const Call call("cov", x);
  expect_number("correction", correction);
  if (x.rank() > 2) {
    throw ShapeError("cov: expected rows of numbers, not {}", x.type().text())
        .at(Location::of_caller());
  }
  const Tensor numbers = wide_enough(x);
  const Tensor rows =
      reshape(numbers, {x.rank() == 2 ? x.shape(0) : Dim(1), x.rank() == 0 ? Dim(1) : x.shape(-1)});
  const Tensor distance = rows - mean(rows, -1, true);
  const Tensor count = Operand(rows.shape(1)).as(real_dtype(rows.dtype()));
  const Tensor together =
      matmul(distance, conj(matrix_transpose(distance))) / maximum(count - correction, 0);
  return astype(is_one(rows.shape(0)) ? reshape(together, {}) : together, inexact(x.dtype()));
}

Tensor corrcoef(const Tensor& x) {
  const Call call("corrcoef", x);
  const Tensor together = cov(x);
  if (together.rank() == 0) return together / together;
  const Tensor deviation = sqrt(real(diagonal(together)));
  return together / expand_dims(deviation, 0) / expand_dims(deviation, 1);
}

Tensor diff(const Tensor& x, int64_t times, int64_t axis) {
  const Call call("diff", x);
  if (times < 0)
    throw ValueError("diff: n is {}, expected 0 or more", times).at(Location::of_caller());
  normal_axis(axis, x.rank());
  Tensor result = x;
  for (int64_t i = 0; i < times; ++i) {
    const Dim size = result.shape(axis), count = max(size - 1, 0);
    if (same(size, Dim(0))) break;
    const Tensor later = slice_axis(result, axis, min(size, 1), count);
    const Tensor earlier = slice_axis(result, axis, 0, count);
    result = is_boolean(x.dtype()) ? later != earlier : later - earlier;
  }
  return result;
}

Tensor bincount(const Tensor& x, std::optional<Dim> length, const Tensor& weights) {
  const Call call("bincount", x, weights);
  if (!is_integer(x.dtype()) && !is_boolean(x.dtype())) {
    throw TypeError("bincount: expected integers, not {}", x.type().text())
        .at(Location::of_caller());
  }
  if (x.rank() != 1 || (weights && differ_in_size(weights, x))) {
    throw ShapeError("bincount: expected a vector, and as many weights if any")
        .at(Location::of_caller());
  }
  return segment_sum(weights ? weights : full(x.shape(), 1, DType::i64), astype(x, DType::i64),
                     length);
}

Histogram histogram(const Tensor& x, int64_t bins, double low, double high) {
  const Call call("histogram", x);
  if (bins < 1 || !(low < high) || !std::isfinite(high - low)) {
    throw ValueError("histogram: cannot make {} bins from {} to {}", bins, low, high)
        .at(Location::of_caller())
        .hint("expected at least one bin, and a lower end below the upper end");
  }
  return histogram(x, linspace(low, high, bins + 1, inexact(x.dtype())));
}

Histogram histogram(const Tensor& x, const Tensor& edges) {
  const Call call("histogram", x, edges);
  check_edges(edges);
  const Tensor numbers = flatten(x);
  const Dim bins = edges.shape(0) - 1;
  const Tensor last = slice_axis(edges, 0, bins, 1);
  // Bins contain their lower edge; the last one also its upper edge. Numbers outside go to two
  // additional bins, which are dropped.
  const Tensor behind = searchsorted(edges, numbers, SearchSide::right);
  const Tensor bin = where(numbers == last, bins, behind);
  return {slice_axis(bincount(bin, bins + 2), 0, 1, bins), edges};
}

}  // namespace plait
