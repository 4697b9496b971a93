#include "plait/nn/layers/resampling_layers.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/nn/inside/layer_ranks.h"
#include "plait/ops/call.h"

namespace plait::nn {
namespace {

// The size times the factor, rounded down.
Dim scaled(Dim size, double factor) {
  const bool is_integer = factor == std::floor(factor) && std::abs(factor) < 0x1p31;
  if (is_integer) return size * static_cast<int64_t>(factor);
  return static_cast<int64_t>(std::floor(static_cast<double>(size.number()) * factor));
}

// The sizes after scaling. The number of factors is that of the spatial dimensions, or one.
std::vector<Dim> scaled_sizes(const Tensor& x, const std::vector<double>& factors) {
  const size_t space = x.rank() - 2;
  if (factors.size() != 1 && factors.size() != space) {
    throw ValueError("{} scale factors for {} dimensions", factors.size(), space);
  }
  std::vector<Dim> sizes;
  for (size_t i = 0; i < space; ++i) {
    sizes.push_back(
        scaled(x.shape(static_cast<int64_t>(i) + 2), factors[factors.size() == 1 ? 0 : i]));
  }
  return sizes;
}

}  // namespace

Tensor Upsample::operator()(const Tensor& x) const {
  const Call call("nn::Upsample", x);
  expect_dimensions("nn::Upsample", x, {3, 4, 5});
  InterpolateOptions options{.size = {size.begin(), size.end()},
                             .scale_factor = scale_factor,
                             .mode = mode,
                             .align_corners = align_corners};
  if (recompute_scale_factor && size.empty() && !scale_factor.empty()) {
    options.size = scaled_sizes(x, scale_factor);
    options.scale_factor.clear();
  }
  return interpolate(x, options);
}

template <Interpolation mode>
Tensor Upsampling2d<mode>::operator()(const Tensor& images) const {
  constexpr bool is_linear = mode == Interpolation::linear;
  constexpr std::string_view name =
      is_linear ? "nn::UpsamplingBilinear2d" : "nn::UpsamplingNearest2d";
  const Call call(name, images);
  expect_dimensions(name, images, {4});
  return interpolate(images, {.size = {size.begin(), size.end()},
                              .scale_factor = scale_factor,
                              .mode = mode,
                              .align_corners = is_linear});
}

template struct Upsampling2d<Interpolation::nearest>;
template struct Upsampling2d<Interpolation::linear>;

}  // namespace plait::nn
