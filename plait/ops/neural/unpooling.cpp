#include <algorithm>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/neural/pooling_parts.h"
#include "plait/ops/neural/pooling.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

struct Unpool {
  std::string_view function;
  size_t dimensions;
  const PerDimension& window;
  const MaxUnpoolOptions& options;
};

// The sizes that are given for the space; none if none are.
std::vector<Dim> given_space(const Unpool& unpool, const Tensor& x) {
  const std::vector<Dim>& given = unpool.options.output_size;
  if (given.empty() || given.size() == unpool.dimensions) return given;
  if (given.size() == x.rank())
    return {given.end() - static_cast<std::ptrdiff_t>(unpool.dimensions), given.end()};
  throw ValueError("{}: {} numbers for the output size, expected {} or {}", unpool.function,
                   given.size(), unpool.dimensions, x.rank())
      .at(Location::of_caller());
}

// The size along the i-th dimension of the space. Several sizes give x when pooled.
Dim unpooled_size(const Unpool& unpool, const Tensor& x, size_t i) {
  const auto numbers = [&](const PerDimension& of, std::string_view what, int64_t least) {
    return of.of(unpool.dimensions, unpool.function, what, least)[i];
  };
  const MaxUnpoolOptions& options = unpool.options;
  const int64_t window = numbers(unpool.window, "window", 1),
                stride = numbers(options.stride.value_or(unpool.window), "stride", 1),
                padding = numbers(options.padding, "padding", 0);
  const Dim standard = (space_of(x, unpool.dimensions, i) - 1) * stride + (window - 2 * padding);
  const std::vector<Dim> given = given_space(unpool, x);
  const Dim size = given.empty() ? standard : given[i];
  if (!size.is_number() || !standard.is_number()) return size;
  if (std::abs(size.number() - standard.number()) >= stride || size.number() < 1) {
    throw ShapeError("{}: an output size of {}, expected {} to {}", unpool.function, size,
                     std::max(standard.number() - stride + 1, int64_t{1}),
                     standard.number() + stride - 1)
        .at(Location::of_caller());
  }
  return size;
}

// The first index that is not from 0 to below the count, if it is known.
std::string wrong_index(const Tensor& indices, Dim count) {
  if (Trace::current() != nullptr || !count.is_number()) return "an index";
  const Array all = astype(indices, DType::i64).array().contiguous();
  const auto numbers = all.elements<int64_t>();
  const auto wrong = std::ranges::find_if(
      numbers, [&](int64_t each) { return each < 0 || each >= count.number(); });
  return wrong == numbers.end() ? "an index" : fmt::format("the index {}", *wrong);
}

Tensor max_unpool(const Unpool& unpool, const Tensor& x, const Tensor& indices) {
  const Call call(unpool.function, x, indices);
  const size_t n = unpool.dimensions;
  expect_planes(unpool.function, x, n);
  const Shape shape = x.shape();
  if (!same(shape, indices.shape())) {
    throw ShapeError("{}: the indices are {}, expected the shape of {}", unpool.function,
                     indices.type().text(), x.type().text())
        .at(Location::of_caller());
  }
  Shape result(shape.dims().first(shape.rank() - n)), flat = result, flat_result = result;
  Dim count = 1, result_count = 1;
  for (size_t i = 0; i < n; ++i) {
    result.append(unpooled_size(unpool, x, i));
    count = count * space_of(x, n, i);
    result_count = result_count * result[result.rank() - 1];
  }
  flat.append(count);
  flat_result.append(result_count);
  const Tensor places = where(indices < 0, result_count, indices);  // −1 is out of range
  try {
    const Tensor planes =
        scatter(zeros(flat_result, x.dtype()), -1, reshape(places, flat), reshape(x, flat));
    return reshape(planes, result);
  } catch (const IndexError&) {
    throw IndexError("{}: {} is out of range for {} elements", unpool.function,
                     wrong_index(indices, result_count), result_count.text())
        .at(Location::of_caller())
        .hint("the indices are places in a plane of the result, as max_pool gives them");
  }
}

}  // namespace

Tensor max_unpool1d(const Tensor& x, const Tensor& indices, const PerDimension& window,
                    const MaxUnpoolOptions& options) {
  return max_unpool({"max_unpool1d", 1, window, options}, x, indices);
}
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, const PerDimension& window,
                    const MaxUnpoolOptions& options) {
  return max_unpool({"max_unpool2d", 2, window, options}, x, indices);
}
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, const PerDimension& window,
                    const MaxUnpoolOptions& options) {
  return max_unpool({"max_unpool3d", 3, window, options}, x, indices);
}

}  // namespace plait
