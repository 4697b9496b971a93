#include "plait/ops/neural/pooling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/neural/pooling_parts.h"
#include "plait/ops/neural/window.h"

namespace plait {

void expect_planes(std::string_view function, const Tensor& x, size_t dimensions) {
  if (x.rank() == dimensions + 1 || x.rank() == dimensions + 2) return;
  throw ShapeError("{}: x is {}, expected {} or {} dimensions", function, x.type().text(),
                   dimensions + 1, dimensions + 2)
      .at(Location::of_caller());
}

// The size of the i-th of the last dimensions.
Dim space_of(const Tensor& x, size_t dimensions, size_t i) {
  return x.shape(static_cast<int64_t>(x.rank() - dimensions + i));
}

namespace {

struct Pool {
  std::string_view function;
  size_t dimensions;
  const PerDimension& window;
  const std::optional<PerDimension>& stride;
  const PerDimension& padding;
  PerDimension dilation = 1;
  bool ceil_mode = false;
};

// The number of windows: the last one must begin inside of the input or of the padding before it.
Dim count_of(const Pool& pool, const Tensor& x, const WindowAttributes& a, size_t i) {
  const Dim size = space_of(x, pool.dimensions, i);
  const int64_t extent = (a.window[i] - 1) * a.dilation[i] + 1, stride = a.strides[i];
  if (2 * a.padding[i] > extent) {
    throw ValueError("{}: a padding of {} is more than half of a window of {}", pool.function,
                     a.padding[i], extent)
        .at(Location::of_caller());
  }
  const Dim rest = size + 2 * a.padding[i] - extent + (pool.ceil_mode ? stride - 1 : 0);
  const bool fits =
      sizes_hold(rest >= Dim(0)) && (!pool.ceil_mode || sizes_hold(size + a.padding[i] >= Dim(1)));
  if (!fits) {
    throw ShapeError("{}: a window of {} does not fit into {} with a padding of {}", pool.function,
                     extent, x.type().text(), a.padding[i])
        .at(Location::of_caller());
  }
  const Dim count = floor_div(rest, stride) + 1;
  if (!pool.ceil_mode) return count;
  return min(count, floor_div(size + (a.padding[i] - 1), stride) + 1);
}

WindowAttributes windows_of(const Pool& pool, const Tensor& x) {
  const size_t n = pool.dimensions;
  expect_planes(pool.function, x, n);
  WindowAttributes a;
  a.window = pool.window.of(n, pool.function, "window", 1);
  a.strides = pool.stride.value_or(pool.window).of(n, pool.function, "stride", 1);
  a.dilation = pool.dilation.of(n, pool.function, "dilation", 1);
  a.padding = pool.padding.of(n, pool.function, "padding", 0);
  for (size_t i = 0; i < n; ++i) a.counts.push_back(count_of(pool, x, a, i));
  return a;
}

WindowAttributes even_windows_of(std::string_view function, size_t dimensions, const Tensor& x,
                                 const PerDimension& counts) {
  expect_planes(function, x, dimensions);
  WindowAttributes a;
  const auto given = counts.of(dimensions, function, "number of windows", -1);
  for (size_t i = 0; i < dimensions; ++i) {
    const Dim size = space_of(x, dimensions, i);
    expect_nonempty(function, x, size);
    a.counts.push_back(given[i] == -1 ? size : Dim(given[i]));
  }
  return a;
}

Scalar least_of(DType dtype) {
  if (is_floating(dtype)) return -std::numeric_limits<double>::infinity();
  if (!is_signed(dtype) || is_boolean(dtype)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * size_of(dtype));
}

MaxPooled max_of(const Tensor& x, const WindowAttributes& a) {
  const Tensor index = window_maximum_index(x, a);
  Tensor values = plane_take(x, index, a.counts.size());
  // Only dilated windows can lie entirely outside of the elements.
  const bool has_gaps = std::ranges::any_of(a.dilation, [](int64_t step) { return step > 1; });
  if (has_gaps) values = where(less(index, 0), least_of(x.dtype()), values);
  return {values, index};
}

WindowAttributes max_windows_of(std::string_view function, size_t dimensions, const Tensor& x,
                                const PerDimension& window, const MaxPoolOptions& options) {
  return windows_of({function, dimensions, window, options.stride, options.padding,
                     options.dilation, options.ceil_mode},
                    x);
}

Tensor max_pool(std::string_view function, size_t dimensions, const Tensor& x,
                const PerDimension& window, const MaxPoolOptions& options) {
  const Call call(function, x);
  return window_maximum(x, max_windows_of(function, dimensions, x, window, options));
}

MaxPooled max_pool_with_indices(std::string_view function, size_t dimensions, const Tensor& x,
                                const PerDimension& window, const MaxPoolOptions& options) {
  const Call call(function, x);
  return max_of(x, max_windows_of(function, dimensions, x, window, options));
}

MaxPooled adaptive_max_pool(std::string_view function, size_t dimensions, const Tensor& x,
                            const PerDimension& counts) {
  const Call call(function, x);
  return max_of(x, even_windows_of(function, dimensions, x, counts));
}

// The number of elements in each window, in the dtype of x.
Tensor counts_of(const Tensor& x, WindowAttributes a, bool with_padding) {
  Shape plane;
  for (size_t i = 0; i < a.counts.size(); ++i) {
    const Dim size = space_of(x, a.counts.size(), i);
    plane.append(with_padding ? size + 2 * a.padding[i] : size);
    if (with_padding) a.padding[i] = 0;
  }
  return window_sum(ones(plane, x.dtype()), a);
}

// Sums may overflow narrow floats although the means do not.
DType dtype_of_sums(DType dtype) {
  const bool is_narrow = is_floating(dtype) && size_of(dtype) < 4;
  return is_narrow ? DType::f32 : inexact(dtype);
}

Tensor avg_pool(std::string_view function, size_t dimensions, const Tensor& x,
                const PerDimension& window, const AveragePoolOptions& options) {
  const Call call(function, x);
  const WindowAttributes a = windows_of(
      {function, dimensions, window, options.stride, options.padding, 1, options.ceil_mode}, x);
  const Tensor numbers = astype(x, dtype_of_sums(x.dtype()));
  const Tensor sums = window_sum(numbers, a);
  const auto means = [&](const Operand& divisor) {
    return astype(divide(sums, divisor), inexact(x.dtype()));
  };
  if (options.divisor_override) {
    if (*options.divisor_override == 0) {
      throw ValueError("{}: the divisor is 0", function).at(Location::of_caller());
    }
    return means(*options.divisor_override);
  }
  const bool has_padding = std::ranges::any_of(a.padding, [](int64_t p) { return p != 0; });
  if (options.ceil_mode || (has_padding && !options.count_include_pad)) {
    return means(counts_of(numbers, a, options.count_include_pad));
  }
  int64_t count = 1;
  for (const int64_t size : a.window) count *= size;
  return means(count);
}

Tensor adaptive_avg_pool(std::string_view function, size_t dimensions, const Tensor& x,
                         const PerDimension& counts) {
  const Call call(function, x);
  const WindowAttributes a = even_windows_of(function, dimensions, x, counts);
  const Tensor numbers = astype(x, dtype_of_sums(x.dtype()));
  return astype(window_sum(numbers, a) / counts_of(numbers, a, false), inexact(x.dtype()));
}

// (Σ x^p)^(1/p), with a derivative of 0 where the sum is 0.
Tensor root_of(const Tensor& sums, double p) {
  if (p == 1) return sums;
  const Tensor is_zero = equal(sums, 0), others = where(is_zero, 1, sums);
  return where(is_zero, 0, p == 2 ? sqrt(others) : power(others, 1 / p));
}

Tensor lp_pool(std::string_view function, size_t dimensions, const Tensor& x, double p,
               const PerDimension& window, const LpPoolOptions& options) {
  const Call call(function, x);
  if (!std::isfinite(p) || p == 0) {
    throw ValueError("{}: the norm type is {}, expected a finite number other than 0", function, p)
        .at(Location::of_caller())
        .hint("the maximum norm is max_pool of absolute(x)");
  }
  const WindowAttributes a =
      windows_of({function, dimensions, window, options.stride, 0, 1, options.ceil_mode}, x);
  const Tensor numbers = astype(x, dtype_of_sums(x.dtype()));
  Tensor sums = window_sum(p == 2 ? square(numbers) : power(numbers, p), a);
  if (options.ceil_mode) {
    int64_t count = 1;
    for (const int64_t size : a.window) count *= size;
    sums = sums * (count / counts_of(numbers, a, false));
  }
  return astype(root_of(sums, p), inexact(x.dtype()));
}

}  // namespace

Tensor max_pool1d(const Tensor& x, const PerDimension& window, const MaxPoolOptions& options) {
  return max_pool("max_pool1d", 1, x, window, options);
}
Tensor max_pool2d(const Tensor& x, const PerDimension& window, const MaxPoolOptions& options) {
  return max_pool("max_pool2d", 2, x, window, options);
}
Tensor max_pool3d(const Tensor& x, const PerDimension& window, const MaxPoolOptions& options) {
  return max_pool("max_pool3d", 3, x, window, options);
}
MaxPooled max_pool1d_with_indices(const Tensor& x, const PerDimension& window,
                                  const MaxPoolOptions& options) {
  return max_pool_with_indices("max_pool1d_with_indices", 1, x, window, options);
}
MaxPooled max_pool2d_with_indices(const Tensor& x, const PerDimension& window,
                                  const MaxPoolOptions& options) {
  return max_pool_with_indices("max_pool2d_with_indices", 2, x, window, options);
}
MaxPooled max_pool3d_with_indices(const Tensor& x, const PerDimension& window,
                                  const MaxPoolOptions& options) {
  return max_pool_with_indices("max_pool3d_with_indices", 3, x, window, options);
}

Tensor avg_pool1d(const Tensor& x, const PerDimension& window, const AveragePoolOptions& options) {
  return avg_pool("avg_pool1d", 1, x, window, options);
}
Tensor avg_pool2d(const Tensor& x, const PerDimension& window, const AveragePoolOptions& options) {
  return avg_pool("avg_pool2d", 2, x, window, options);
}
Tensor avg_pool3d(const Tensor& x, const PerDimension& window, const AveragePoolOptions& options) {
  return avg_pool("avg_pool3d", 3, x, window, options);
}

Tensor lp_pool1d(const Tensor& x, double norm_type, const PerDimension& window,
                 const LpPoolOptions& options) {
  return lp_pool("lp_pool1d", 1, x, norm_type, window, options);
}
Tensor lp_pool2d(const Tensor& x, double norm_type, const PerDimension& window,
                 const LpPoolOptions& options) {
  return lp_pool("lp_pool2d", 2, x, norm_type, window, options);
}
Tensor lp_pool3d(const Tensor& x, double norm_type, const PerDimension& window,
                 const LpPoolOptions& options) {
  return lp_pool("lp_pool3d", 3, x, norm_type, window, options);
}

Tensor adaptive_avg_pool1d(const Tensor& x, const PerDimension& counts) {
  return adaptive_avg_pool("adaptive_avg_pool1d", 1, x, counts);
}
Tensor adaptive_avg_pool2d(const Tensor& x, const PerDimension& counts) {
  return adaptive_avg_pool("adaptive_avg_pool2d", 2, x, counts);
}
Tensor adaptive_avg_pool3d(const Tensor& x, const PerDimension& counts) {
  return adaptive_avg_pool("adaptive_avg_pool3d", 3, x, counts);
}
Tensor adaptive_max_pool1d(const Tensor& x, const PerDimension& counts) {
  return adaptive_max_pool("adaptive_max_pool1d", 1, x, counts).values;
}
Tensor adaptive_max_pool2d(const Tensor& x, const PerDimension& counts) {
  return adaptive_max_pool("adaptive_max_pool2d", 2, x, counts).values;
}
Tensor adaptive_max_pool3d(const Tensor& x, const PerDimension& counts) {
  return adaptive_max_pool("adaptive_max_pool3d", 3, x, counts).values;
}
MaxPooled adaptive_max_pool1d_with_indices(const Tensor& x, const PerDimension& counts) {
  return adaptive_max_pool("adaptive_max_pool1d_with_indices", 1, x, counts);
}
MaxPooled adaptive_max_pool2d_with_indices(const Tensor& x, const PerDimension& counts) {
  return adaptive_max_pool("adaptive_max_pool2d_with_indices", 2, x, counts);
}
MaxPooled adaptive_max_pool3d_with_indices(const Tensor& x, const PerDimension& counts) {
  return adaptive_max_pool("adaptive_max_pool3d_with_indices", 3, x, counts);
}

}  // namespace plait
