#include "plait/nn/layers/pooling_layers.h"

#include "plait/nn/inside/layer_parts.h"
#include "plait/ops/neural/pooling.h"

namespace plait::nn {
namespace {

std::optional<PerDimension> stride_of(const std::vector<int64_t>& stride) {
  return stride.empty() ? std::nullopt : std::optional<PerDimension>(stride);
}

}  // namespace

template <size_t rank>
Tensor MaxPool<rank>::operator()(const Tensor& images) const {
  return of_rank<rank>(max_pool1d, max_pool2d, max_pool3d, images, kernel_size,
                       {.stride = stride_of(stride),
                        .padding = padding,
                        .dilation = dilation,
                        .ceil_mode = ceil_mode});
}

template <size_t rank>
Tensor AvgPool<rank>::operator()(const Tensor& images) const {
  return of_rank<rank>(avg_pool1d, avg_pool2d, avg_pool3d, images, kernel_size,
                       {.stride = stride_of(stride),
                        .padding = padding,
                        .ceil_mode = ceil_mode,
                        .count_include_pad = count_include_pad});
}

template struct MaxPool<1>;
template struct MaxPool<2>;
template struct MaxPool<3>;
template struct AvgPool<1>;
template struct AvgPool<2>;
template struct AvgPool<3>;

}  // namespace plait::nn
