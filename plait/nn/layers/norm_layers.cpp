#include "plait/nn/layers/norm_layers.h"

#include <utility>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_parts.h"
#include "plait/nn/inside/layer_ranks.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/call.h"
#include "plait/ops/neural/normalization.h"

namespace plait::nn {
namespace {

void expect_some_sizes(const std::vector<int64_t>& sizes) {
  if (sizes.empty()) throw ValueError("there are no sizes, expected one or more");
  expect_sizes(sizes, "dimensions");
}

}  // namespace

LayerNorm LayerNorm::init(std::vector<int64_t> sizes, const LayerNormOptions& options) {
  const Call call("nn::LayerNorm");
  expect_some_sizes(sizes);
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

GroupNorm GroupNorm::init(int64_t num_groups, int64_t channels, const GroupNormOptions& options) {
  const Call call("nn::GroupNorm");
  expect_sizes({channels}, "channels");
  expect_not_negative("eps", options.eps);
  if (num_groups < 1 || channels % num_groups != 0) {
    throw ValueError("{} channels cannot be divided into {} groups", channels, num_groups);
  }
  GroupNorm made{.num_groups = num_groups, .weight = {}, .bias = {}, .eps = options.eps};
  if (options.affine) {
    made.weight = ones({channels}, options.dtype);
    made.bias = zeros({channels}, options.dtype);
  }
  return made;
}

Tensor GroupNorm::operator()(const Tensor& x) const {
  return group_norm(x, num_groups, or_empty(weight), or_empty(bias), eps);
}

RMSNorm RMSNorm::init(std::vector<int64_t> sizes, const RMSNormOptions& options) {
  const Call call("nn::RMSNorm");
  expect_some_sizes(sizes);
  if (options.eps) expect_not_negative("eps", *options.eps);
  RMSNorm made{.sizes = std::move(sizes), .weight = {}, .eps = options.eps};
  if (options.weight) made.weight = ones(Shape::of_sizes(made.sizes), options.dtype);
  return made;
}

RMSNorm RMSNorm::init(int64_t size, const RMSNormOptions& options) {
  return init(std::vector{size}, options);
}

Tensor RMSNorm::operator()(const Tensor& x) const {
  return rms_norm(x, Shape::of_sizes(sizes), or_empty(weight), eps);
}

Tensor LocalResponseNorm::operator()(const Tensor& x) const {
  return local_response_norm(x, size, alpha, beta, k);
}

Tensor CrossMapLRN2d::operator()(const Tensor& images) const {
  expect_dimensions("nn::CrossMapLRN2d", images, {4});
  return local_response_norm(images, size, alpha, beta, k);
}

}  // namespace plait::nn
