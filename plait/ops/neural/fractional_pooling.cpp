#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/neural/pooling_parts.h"
#include "plait/ops/inside/random/random_functions.h"
#include "plait/ops/neural/pooling.h"
#include "plait/ops/neural/window.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {
namespace {

struct Fractional {
  std::string_view function;
  size_t dimensions;
  std::vector<int64_t> window;
  std::vector<int64_t> counts;
  Shape planes;  // planes of x, without the space
};

std::vector<int64_t> counts_by_ratio(std::string_view function, size_t dimensions, const Tensor& x,
                                     const std::vector<double>& ratio) {
  if (ratio.size() != 1 && ratio.size() != dimensions) {
    throw ValueError("{}: {} numbers for the output ratio, expected {}", function, ratio.size(),
                     dimensions)
        .at(Location::of_caller());
  }
  std::vector<int64_t> counts;
  for (size_t i = 0; i < dimensions; ++i) {
    const double each = ratio[ratio.size() == 1 ? 0 : i];
    const Dim size = space_of(x, dimensions, i);
    if (!(each > 0 && each < 1)) {
      throw ValueError("{}: an output ratio of {}, expected between 0 and 1", function, each)
          .at(Location::of_caller());
    }
    if (!size.is_number()) {
      throw ValueError("{}: the ratio {} of the unknown size {} does not define a size", function,
                       each, size)
          .at(Location::of_caller())
          .hint("pass output_size");
    }
    counts.push_back(static_cast<int64_t>(static_cast<double>(size.number()) * each));
  }
  return counts;
}

Fractional fractional_of(std::string_view function, size_t n, const Tensor& x,
                         const PerDimension& window, const FractionalMaxPoolOptions& options) {
  expect_planes(function, x, n);
  if (!kReals.contains(x.dtype())) {
    throw TypeError("{}: x is {}, expected real numbers", function, x.type().text())
        .at(Location::of_caller());
  }
  if (options.output_size.has_value() != options.output_ratio.empty()) {
    throw ValueError("{}: expected either an output size or an output ratio", function)
        .at(Location::of_caller());
  }
  const std::vector<int64_t> counts =
      options.output_size ? options.output_size->of(n, function, "number of windows", 1)
                          : counts_by_ratio(function, n, x, options.output_ratio);
  Fractional pool{function, n, window.of(n, function, "window", 1), counts,
                  Shape(x.shape().dims().first(x.rank() - n))};
  for (size_t i = 0; i < n; ++i) {
    const Dim size = space_of(x, n, i);
    const int64_t needed = counts[i] + pool.window[i] - 1;
    if (counts[i] >= 1 && (!size.is_number() || size.number() >= needed)) continue;
    throw ShapeError("{}: {} windows of {} do not fit into {}", function, counts[i], pool.window[i],
                     x.type().text())
        .at(Location::of_caller());
  }
  return pool;
}

Tensor samples_of(const Fractional& pool, DType dtype, const FractionalMaxPoolOptions& options) {
  Shape shape = pool.planes;
  shape.append(static_cast<int64_t>(pool.dimensions));
  if (!options.samples) {
    return random::uniform(random::key_or_next(pool.function, options.key), shape, 0, 1, dtype);
  }
  if (options.key) {
    throw ValueError("{}: the key and the samples both determine the windows", pool.function)
        .at(Location::of_caller())
        .hint("pass only one");
  }
  const Tensor samples = astype(options.samples, dtype);
  if (same(samples.shape(), shape)) return samples;
  const bool is_batch_of_one = pool.planes.rank() == 1 && samples.rank() == 3 &&
                               same(samples.shape(), Shape{1, shape[0], shape[1]});
  if (is_batch_of_one) return reshape(samples, shape);
  throw ShapeError("{}: the samples are {}, expected {}", pool.function,
                   options.samples.type().text(), shape.text())
      .at(Location::of_caller());
}

// Where each window begins along an axis: ⌊(i + s) α⌋ − ⌊s α⌋, and the last one at the end.
Tensor starts_of(const Tensor& sample, Dim size, int64_t count, int64_t window) {
  const Tensor number = iota(count), s = expand_dims(sample, -1);
  const Tensor alpha = Operand(size - window).as(sample.dtype()) /
                       static_cast<double>(std::max(count - 1, int64_t{1}));
  const Tensor starts = floor((astype(number, sample.dtype()) + s) * alpha) - floor(s * alpha);
  return where(equal(number, count - 1), Operand(size - window).as(DType::i64),
               astype(starts, DType::i64));
}

// The flat indices of the elements of each window: [planes…, counts…, elements].
Tensor indices_of(const Fractional& pool, const Tensor& x, const Tensor& samples) {
  const size_t n = pool.dimensions;
  Tensor indices;
  Dim stride = 1;
  for (size_t i = n; i-- > 0;) {
    // The last of two dimensions has the first sample.
    const auto at = static_cast<int64_t>(n == 2 ? 1 - i : i);
    const Tensor sample = squeeze(slice_axis(samples, -1, at, 1), -1);
    const Dim size = space_of(x, n, i);
    const Tensor starts = starts_of(sample, size, pool.counts[i], pool.window[i]);
    Shape shape = pool.planes, offsets;
    for (size_t j = 0; j < n; ++j) shape.append(j == i ? pool.counts[i] : 1);
    for (size_t j = 0; j < n; ++j) {
      shape.append(1);
      offsets.append(j == i ? pool.window[i] : 1);
    }
    const Tensor places = reshape(starts, shape) + reshape(iota(pool.window[i]), offsets);
    const Tensor part = places * Operand(stride).as(DType::i64);
    indices = indices ? indices + part : part;
    stride = stride * size;
  }
  Shape shape = pool.planes;
  for (const int64_t count : pool.counts) shape.append(count);
  int64_t elements = 1;
  for (const int64_t size : pool.window) elements *= size;
  shape.append(elements);
  return reshape(indices, shape);
}

MaxPooled fractional_max_pool(std::string_view function, size_t dimensions, const Tensor& x,
                              const PerDimension& window, const FractionalMaxPoolOptions& options) {
  const Call call(function, x, options.samples, options.key);
  const Fractional pool = fractional_of(function, dimensions, x, window, options);
  const DType dtype = computed(inexact(x.dtype()));
  const Tensor indices = indices_of(pool, x, samples_of(pool, dtype, options));
  const auto flat = [&](const Tensor& each) {
    Shape shape = pool.planes;
    shape.append(-1);
    return reshape(each, shape);
  };
  const Tensor plane = flat(x);
  const Tensor elements =
      reshape(plane_take(stop_gradient(plane), flat(indices), 1), indices.shape());
  const Tensor first = argmax(elements, -1, true);
  const Tensor index = squeeze(take_along_axis(indices, first, -1), -1);
  return {reshape(plane_take(plane, flat(index), 1), index.shape()), index};
}

}  // namespace

Tensor fractional_max_pool2d(const Tensor& x, const PerDimension& window,
                             const FractionalMaxPoolOptions& options) {
  return fractional_max_pool("fractional_max_pool2d", 2, x, window, options).values;
}
MaxPooled fractional_max_pool2d_with_indices(const Tensor& x, const PerDimension& window,
                                             const FractionalMaxPoolOptions& options) {
  return fractional_max_pool("fractional_max_pool2d_with_indices", 2, x, window, options);
}
Tensor fractional_max_pool3d(const Tensor& x, const PerDimension& window,
                             const FractionalMaxPoolOptions& options) {
  return fractional_max_pool("fractional_max_pool3d", 3, x, window, options).values;
}
MaxPooled fractional_max_pool3d_with_indices(const Tensor& x, const PerDimension& window,
                                             const FractionalMaxPoolOptions& options) {
  return fractional_max_pool("fractional_max_pool3d_with_indices", 3, x, window, options);
}

}  // namespace plait
