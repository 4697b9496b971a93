#include "plait/nn/inside/layer_parts.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/nn/initialization.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"

namespace plait::nn {

void expect_one_key(const Tensor& key) {
  if (key.rank() == 0) return;
  throw ShapeError("expected one key, not {}", key.type().text())
      .at(Location::of_caller())
      .hint("keys[0] is the first of them; vmap over keys makes a layer for each");
}

Tensor keys_of(const Tensor& key, Dim count) {
  expect_one_key(key);
  return random::split_key(key, count);
}

Weights weights_of(const Tensor& key, const Shape& shape, std::optional<Dim> outputs, DType dtype) {
  const Tensor keys = keys_of(key, 2);
  const int64_t inputs = fans_of(shape).in;
  const double bound = inputs > 0 ? 1 / std::sqrt(static_cast<double>(inputs)) : 0;
  Weights made{.weight = uniform(keys[0], shape, bound, dtype), .bias = {}};
  if (outputs) made.bias = uniform(keys[1], {*outputs}, bound, dtype);
  return made;
}

void expect_sizes(std::span<const int64_t> sizes, std::string_view what) {
  for (const int64_t size : sizes) {
    if (size < 0) throw ValueError("{} of {}: expected sizes of 0 or more", what, size);
  }
}
void expect_sizes(std::initializer_list<int64_t> sizes, std::string_view what) {
  expect_sizes(std::span(sizes.begin(), sizes.size()), what);
}

Tensor or_empty(const std::optional<Tensor>& tensor) { return tensor.value_or(Tensor()); }

}  // namespace plait::nn
