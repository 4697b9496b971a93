#include "plait/ops/neural/resampling.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/assign.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/neural/resampling_taps.h"
#include "plait/ops/neural/pooling.h"
#include "plait/ops/neural/window.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {
namespace {

// The dtype of coordinates: f32, or f64 for f64.
DType place_dtype(DType dtype) {
  return dtype == DType::f64 || dtype == DType::c128 ? DType::f64 : DType::f32;
}

// One spatial dimension of interpolate().
struct Axis {
  Dim in, out;
  std::optional<double> scale;  // as given by the user
};

std::vector<Axis> axes_of(const Tensor& x, const InterpolateOptions& options) {
  const size_t dimensions = x.rank() < 3 ? 0 : x.rank() - 2;
  if (dimensions < 1 || dimensions > 3) {
    throw ShapeError("interpolate: x is {}, expected [batch, channels] and one to three dimensions",
                     x.type().text())
        .at(Location::of_caller());
  }
  if (options.size.empty() == options.scale_factor.empty()) {
    throw ValueError("interpolate: expected either sizes or scales").at(Location::of_caller());
  }
  const size_t given = std::max(options.size.size(), options.scale_factor.size());
  if (given != 1 && given != dimensions) {
    throw ValueError("interpolate: {} sizes or scales for {} dimensions", given, dimensions)
        .at(Location::of_caller());
  }
  std::vector<Axis> axes;
  for (size_t i = 0; i < dimensions; ++i) {
    Axis axis{.in = x.shape(static_cast<int64_t>(i) + 2)};
    const size_t at = given == 1 ? 0 : i;
    if (!options.size.empty()) {
      axis.out = options.size[at];
    } else {
      axis.scale = options.scale_factor[at];
      const double factor = *axis.scale;
      if (!(factor > 0 && factor < 0x1p31)) {
        throw ValueError("interpolate: the scale {} is out of range", factor)
            .at(Location::of_caller());
      }
      const bool is_whole = factor == std::floor(factor);
      if (!axis.in.is_number() && !is_whole) {
        throw ValueError("interpolate: the scale {} of the unknown size {} does not define a size",
                         factor, axis.in)
            .at(Location::of_caller())
            .hint("pass the sizes");
      }
      axis.out = is_whole ? axis.in * static_cast<int64_t>(factor)
                          : Dim(static_cast<int64_t>(
                                std::floor(static_cast<double>(axis.in.number()) * factor)));
    }
    expect_nonempty("interpolate", x, axis.in);
    if (axis.out.is_number() && axis.out.number() < 1) {
      throw ShapeError("interpolate: cannot resample {} to a size of {}", x.type().text(), axis.out)
          .at(Location::of_caller());
    }
    axes.push_back(axis);
  }
  return axes;
}

// The distance in the input of neighbouring output elements.
Tensor step_of(const Axis& axis, bool align_corners, DType dtype) {
  const auto number = [&](const Operand& x) { return x.as(dtype); };
  if (align_corners) {
    // A single output element is at the beginning.
    const Tensor last = number(axis.out - 1);
    return where(equal(last, 0), 0, number(axis.in - 1) / where(equal(last, 0), 1, last));
  }
  if (axis.scale) return number(1 / *axis.scale);
  return number(axis.in) / number(axis.out);
}

Tensor as_index(const Tensor& place, Dim size) {
  return clip(astype(place, DType::i64), 0, Operand(size - 1).as(DType::i64));
}

std::vector<Tap> taps_of(const Axis& axis, const InterpolateOptions& options, DType dtype) {
  const Tensor counted = astype(iota(axis.out), dtype);
  const Tensor step = step_of(axis, options.align_corners, dtype);
  switch (options.mode) {
    case Interpolation::nearest: return {{as_index(floor(counted * step), axis.in), {}, {}}};
    case Interpolation::nearest_exact:
      return {{as_index(floor((counted + 0.5) * step), axis.in), {}, {}}};
    default: break;
  }
  Tensor place = options.align_corners ? counted * step : (counted + 0.5) * step - 0.5;
  std::vector<Tap> taps;
  if (options.mode == Interpolation::linear) {
    place = maximum(place, 0);
    const Tensor first = floor(place), part = place - first;
    taps.push_back({as_index(first, axis.in), 1 - part, {}});
    taps.push_back({as_index(first + 1, axis.in), part, {}});
    return taps;
  }
  const Tensor first = floor(place);
  int64_t shift = -1;
  for (const Tensor& weight : cubic_weights(place - first)) {
    taps.push_back({as_index(first + shift++, axis.in), weight, {}});
  }
  return taps;
}

// The sum of the taps along one axis.
Tensor resampled(const Tensor& x, int64_t axis, const std::vector<Tap>& taps) {
  // Each plane is indexed on its own, so that results are contiguous.
  Shape planes(x.shape().dims().first(static_cast<size_t>(axis)));
  planes.append(taps[0].index.shape(0));
  Tensor total;
  for (const Tap& tap : taps) {
    const Tensor index = broadcast_to(tap.index, planes);
    Tensor part = gather_rows(x, {&index, 1}, {.axes = {axis}, .batch = axis});
    if (tap.weight) {
      Shape line{tap.weight.shape(0)};
      for (int64_t behind = axis + 1; behind < static_cast<int64_t>(x.rank()); ++behind) {
        line.append(1);
      }
      part *= reshape(tap.weight, line);
    }
    if (total) {
      total += part;
    } else {
      total = std::move(part);
    }
  }
  return total;
}

// The weight of an element at `distance`: triangle, or Keys' kernel.
Tensor weight_at(const Tensor& distance, bool is_cubic) {
  const Tensor d = absolute(distance);
  if (!is_cubic) return maximum(1 - d, 0);
  const Tensor near = (d * 1.5 - 2.5) * d * d + 1, far = ((d * -0.5 + 2.5) * d - 4) * d + 2;
  return where(d < 1, near, where(d < 2, far, 0));
}

// The weight of each input element for each output element, [out, in]. When downsampling, the
// kernel is widened accordingly.
Tensor shares_of(const Axis& axis, const InterpolateOptions& options, DType dtype) {
  const Tensor step = step_of(axis, options.align_corners, dtype);
  const Tensor middle = (astype(iota(axis.out), dtype) + 0.5) * step;
  const Tensor distance = astype(iota(axis.in), dtype) + 0.5 - expand_dims(middle, 1);
  const Tensor weights =
      weight_at(distance / maximum(step, 1), options.mode == Interpolation::cubic);
  return weights / sum(weights, 1, true);
}

Tensor smoothed(const Tensor& x, const std::vector<Axis>& axes, const InterpolateOptions& options) {
  const DType dtype = inexact(x.dtype());
  Tensor result = astype(x, computed(dtype));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto place = static_cast<int64_t>(i) + 2;
    const Tensor shares = shares_of(axes[i], options, place_dtype(dtype));
    result = moveaxis(matmul(moveaxis(result, place, -1), matrix_transpose(shares)), -1, place);
  }
  return astype(result, dtype);
}

Tensor area(const Tensor& x, const std::vector<Axis>& axes) {
  std::vector<int64_t> counts;
  for (const Axis& axis : axes) {
    if (!axis.out.is_number()) {
      throw ValueError("interpolate: area needs a known size, not {}", axis.out)
          .at(Location::of_caller());
    }
    counts.push_back(axis.out.number());
  }
  switch (counts.size()) {
    case 1: return adaptive_avg_pool1d(x, counts);
    case 2: return adaptive_avg_pool2d(x, counts);
    default: return adaptive_avg_pool3d(x, counts);
  }
}

// ---- Grids

void check_grid(const Tensor& x, const Tensor& grid, const GridSampleOptions& options) {
  const size_t rank = x.rank();
  const bool fits = (rank == 4 || rank == 5) && grid.rank() == rank &&
                    same(grid.shape(-1), Dim(static_cast<int64_t>(rank) - 2)) &&
                    same(grid.shape(0), x.shape(0));
  if (!fits) {
    throw ShapeError("grid_sample: {} does not match the grid {}", x.type().text(),
                     grid.type().text())
        .at(Location::of_caller())
        .hint(
            "expected [batch, channels, h, w] and [batch, h', w', 2], or one dimension more in "
            "each");
  }
  for (size_t axis = 2; axis < rank; ++axis) {
    if (same(x.shape(static_cast<int64_t>(axis)), Dim(0))) {
      throw ShapeError("grid_sample: {} has a spatial size of 0", x.type().text())
          .at(Location::of_caller());
    }
  }
  if (!kReals.contains(grid.dtype())) {
    throw TypeError("grid_sample: the grid is {}, expected real numbers", grid.type().text())
        .at(Location::of_caller());
  }
  const bool is_cubic = options.mode == Interpolation::cubic;
  if (options.mode == Interpolation::nearest || options.mode == Interpolation::linear ||
      (is_cubic && rank == 4)) {
    return;
  }
  throw ValueError("grid_sample: expected nearest or linear, or cubic for two dimensions")
      .at(Location::of_caller());
}

class GridAxis {
 public:
  GridAxis(const Tensor& coordinates, Dim size, const GridSampleOptions& options)
      : options_(options), dtype_(coordinates.dtype()), size_(Operand(size).as(dtype_)) {
    // −1 and 1 are the centres of the outermost elements if align_corners, else their outer edges.
    place_ = options.align_corners ? (coordinates + 1) * ((size_ - 1) * 0.5)
                                   : ((coordinates + 1) * size_ - 1) * 0.5;
  }

  std::vector<Tap> taps() const {
    if (options_.mode == Interpolation::nearest) return {tap(round(padded(place_)), {})};
    if (options_.mode == Interpolation::linear) {
      const Tensor place = padded(place_), first = floor(place), part = place - first;
      return {tap(first, 1 - part), tap(first + 1, part)};
    }
    const Tensor first = floor(place_);
    std::vector<Tap> taps;
    int64_t shift = -1;
    for (const Tensor& weight : cubic_weights(place_ - first)) {
      taps.push_back(tap(padded(first + shift++), weight));
    }
    return taps;
  }

 private:
  Tensor padded(const Tensor& place) const {
    if (options_.padding_mode == GridPadding::zeros) return place;
    const Tensor last = size_ - 1;
    const Tensor inside = options_.padding_mode == GridPadding::border ? place : reflected(place);
    // Also exactly at the ends the derivative is that of a constant, since the neighbour is
    // outside.
    return where(inside <= 0, 0, where(inside >= last, last, inside));
  }

  // Reflects between the centres of the outermost elements, or their edges, as often as needed.
  Tensor reflected(const Tensor& place) const {
    const double low = options_.align_corners ? 0 : -0.5;
    const Tensor span = options_.align_corners ? size_ - 1 : size_;
    const Tensor safe = where(equal(span, 0), 1, span);
    const Tensor distance = absolute(place - low);
    const Tensor rounds = floor(distance / safe);
    const Tensor extra = distance - rounds * safe;
    const Tensor is_even = equal(remainder(rounds, 2), 0);
    const Tensor turned = where(is_even, extra + low, safe - extra + low);
    return where(equal(span, 0), 0, turned);
  }

  // NaN is outside.
  Tap tap(const Tensor& place, const Tensor& weight) const {
    const Tensor valid = greater_equal(place, 0) & less(place, size_);
    return {astype(where(valid, place, 0), DType::i64), weight, valid};
  }

  const GridSampleOptions& options_;
  DType dtype_;
  Tensor size_, place_;
};

// ---- Affine maps

void check_affine(const Tensor& theta, const std::vector<Dim>& size) {
  const auto n = static_cast<int64_t>(size.size()) - 2;
  if (n != 2 && n != 3) {
    throw ValueError("affine_grid: {} sizes, expected [batch, channels] and 2 or 3 of the space",
                     size.size())
        .at(Location::of_caller());
  }
  if (!kReals.contains(theta.dtype())) {
    throw TypeError("affine_grid: theta is {}, expected real numbers", theta.type().text())
        .at(Location::of_caller());
  }
  const bool fits = theta.rank() == 3 && !differ(theta.shape(0), size[0]) &&
                    same(theta.shape(1), Dim(n)) && same(theta.shape(2), Dim(n + 1));
  if (!fits) {
    throw ShapeError("affine_grid: theta is {}, expected {}", theta.type().text(),
                     Shape{size[0], n, n + 1}.text())
        .at(Location::of_caller());
  }
  for (const Dim each : size) {
    if (!each.is_number() || each.number() >= 1) continue;
    throw ShapeError("affine_grid: a size of {}, expected 1 or more", each)
        .at(Location::of_caller());
  }
}

// −1 to 1: the centres of the outermost elements if align_corners, else their outer edges. A single
// element is in the middle.
Tensor coordinates(Dim count, bool align_corners, DType dtype) {
  const Tensor number = astype(iota(count), dtype);
  if (!align_corners) return (number * 2 + 1) / Operand(count).as(dtype) - 1;
  const Tensor last = Operand(count - 1).as(dtype), is_single = equal(last, 0);
  return where(is_single, 0, number * 2 / where(is_single, 1, last) - 1);
}

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
  const Call call("interpolate", x);
  if (is_key(x.dtype())) {
    throw TypeError("interpolate: {} is not a number", x.type().text()).at(Location::of_caller());
  }
  const std::vector<Axis> axes = axes_of(x, options);
  const bool is_cubic = options.mode == Interpolation::cubic;
  if (is_cubic && axes.size() != 2) {
    throw ValueError("interpolate: cubic needs two dimensions, not {}", axes.size())
        .at(Location::of_caller());
  }
  if (options.align_corners && options.mode != Interpolation::linear && !is_cubic) {
    throw ValueError("interpolate: align_corners is for linear and cubic")
        .at(Location::of_caller());
  }
  if (options.antialias && options.mode != Interpolation::linear && !is_cubic) {
    throw ValueError("interpolate: antialias is for linear and cubic").at(Location::of_caller());
  }
  if (options.mode == Interpolation::area) return area(x, axes);
  if (options.antialias) return smoothed(x, axes, options);
  const bool copies =
      options.mode == Interpolation::nearest || options.mode == Interpolation::nearest_exact;
  const DType dtype = copies ? x.dtype() : inexact(x.dtype());
  const Tensor numbers = copies ? x : astype(x, computed(dtype));
  // For nearest, PyTorch computes coordinates in f32 for every dtype.
  const DType places = copies ? DType::f32 : place_dtype(dtype);
  Tensor result = numbers;
  for (size_t i = axes.size(); i-- > 0;) {
    result = resampled(result, static_cast<int64_t>(i) + 2, taps_of(axes[i], options, places));
  }
  return astype(result, dtype);
}

Tensor affine_grid(const Tensor& theta, const std::vector<Dim>& size, bool align_corners) {
  const Call call("affine_grid", theta);
  check_affine(theta, size);
  const DType dtype = inexact(theta.dtype());
  const auto n = static_cast<int64_t>(size.size()) - 2;
  const Tensor maps = astype(theta, computed(dtype));
  const auto column = [&](int64_t i) {
    Shape shape{theta.shape(0)};
    for (int64_t axis = 0; axis < n; ++axis) shape.append(1);
    shape.append(n);
    return reshape(slice_axis(maps, -1, i, 1), shape);
  };
  Shape shape{theta.shape(0)};
  for (int64_t axis = 0; axis < n; ++axis) shape.append(size[static_cast<size_t>(axis) + 2]);
  shape.append(n);
  Tensor grid = broadcast_to(column(n), shape);
  for (int64_t axis = 0; axis < n; ++axis) {
    const Dim count = shape[static_cast<size_t>(axis) + 1];
    Shape line{count};
    for (int64_t behind = axis; behind < n; ++behind) line.append(1);
    // The coordinate of the last dimension is the first.
    grid = grid +
           reshape(coordinates(count, align_corners, maps.dtype()), line) * column(n - 1 - axis);
  }
  return astype(grid, dtype);
}

Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleOptions& options) {
  const Call call("grid_sample", x, grid);
  check_grid(x, grid, options);
  const DType dtype = inexact(x.dtype());
  const DType places = place_dtype(promote(dtype, inexact(grid.dtype())));
  const auto dimensions = static_cast<int64_t>(x.rank()) - 2;
  const Tensor coordinates = astype(grid, places);
  std::vector<std::vector<Tap>> taps;
  for (int64_t i = 0; i < dimensions; ++i) {
    // The grid lists the last dimension first.
    const int64_t at = dimensions - 1 - i;
    const Tensor along_axis =
        expand_dims(squeeze(slice(coordinates, -1, {.start = at, .stop = at + 1}), -1), 1);
    taps.push_back(GridAxis(along_axis, x.shape(i + 2), options).taps());
  }
  return astype(sum_of_taps(astype(x, promote(computed(dtype), places)), taps), dtype);
}

}  // namespace plait
