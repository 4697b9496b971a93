#include "plait/nn/layers.h"

#include <cmath>
#include <utility>

#include "plait/core/error.h"
#include "plait/nn/initialization.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/random/random.h"

namespace plait::nn {
// ---- Helpers of all layers

Weights weights_of(const Tensor& key, const Shape& shape, std::optional<Dim> outputs, DType dtype) {
  const Tensor keys = random::split_key(key, 2);
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

// ---- Layers

Linear Linear::init(const Tensor& key, int64_t inputs, int64_t outputs,
                    const LinearOptions& options) {
  const Call call("nn::Linear");
  expect_sizes({inputs, outputs}, "a layer");
  auto [weight, bias] =
      weights_of(key, {outputs, inputs}, options.bias ? std::optional<Dim>(outputs) : std::nullopt,
                 options.dtype);
  return {.weight = std::move(weight), .bias = std::move(bias)};
}

Tensor Linear::operator()(const Tensor& x) const { return linear(x, weight, or_empty(bias)); }

LayerNorm LayerNorm::init(std::vector<int64_t> sizes, const LayerNormOptions& options) {
  const Call call("nn::LayerNorm");
  expect_sizes(sizes, "dimensions");
  expect_not_negative("eps", options.eps);
  LayerNorm made{.sizes = std::move(sizes), .weight = {}, .bias = {}, .eps = options.eps};
  const Shape shape = Shape::of_sizes(made.sizes);
  if (options.weight) made.weight = ones(shape, options.dtype);
  if (options.weight && options.bias) made.bias = zeros(shape, options.dtype);
  return made;
}

LayerNorm LayerNorm::init(int64_t size, const LayerNormOptions& options) {
  return init(std::vector{size}, options);
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  return layer_norm(x, Shape::of_sizes(sizes), or_empty(weight), or_empty(bias), eps);
}

Embedding Embedding::init(const Tensor& key, int64_t rows, int64_t width, DType dtype) {
  const Call call("nn::Embedding");
  expect_sizes({rows, width}, "a table");
  return {random::normal(key, {rows, width}, 0., 1., dtype)};
}

Tensor Embedding::operator()(const Tensor& ids) const { return embedding(ids, weight); }

Tensor Dropout::operator()(const Tensor& x, const Tensor& key) const {
  return training ? dropout(x, p, key) : x;
}
Tensor Dropout::operator()(const Tensor& x) const { return training ? dropout(x, p) : x; }

}  // namespace plait::nn
