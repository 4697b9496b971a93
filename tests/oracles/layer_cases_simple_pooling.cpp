// Pooling.
#include "plait/nn/layers/pooling_layers.h"
#include "plait/ops/arrays/create.h"

#include "tests/oracles/layer_cases_simple.h"

namespace plait {
namespace {

template <class Pool>
struct WithIndices {
  Pool pool;
  std::pair<Tensor, Tensor> operator()(const Tensor& images) const {
    auto [values, indices] = pool.with_indices(images);
    return {values, indices};
  }
};
template <class Pool>
WithIndices<Pool> with_indices(Pool pool) {
  return {std::move(pool)};
}

const Buffers<Tensor> kSamples2 = zeros({2, 4, 2}, kF64), kSamples3 = zeros({2, 4, 3}, kF64);

const LayerCases kWindows{
    ready("max_pool1d_ceil", nn::MaxPool1d{.kernel_size = {3}, .ceil_mode = true}),
    ready("max_pool2d_dilated",
          nn::MaxPool2d{.kernel_size = {3}, .stride = {1}, .padding = {1}, .dilation = {2}}),
    ready("max_pool3d", nn::MaxPool3d{.kernel_size = {2, 3, 1}, .stride = {1, 2, 2}}),
    ready("max_pool1d_indices",
          with_indices(nn::MaxPool1d{.kernel_size = {3}, .stride = {2}, .padding = {1}})),
    ready("max_pool2d_indices",
          with_indices(nn::MaxPool2d{.kernel_size = {3}, .stride = {2}, .padding = {1}})),
    ready("max_pool3d_indices", with_indices(nn::MaxPool3d{.kernel_size = {2}})),
    ready("avg_pool2d_without_padding",
          nn::AvgPool2d{
              .kernel_size = {3}, .stride = {2}, .padding = {1}, .count_include_pad = false}),
    ready("avg_pool2d_divisor", nn::AvgPool2d{.kernel_size = {3, 2}, .divisor_override = 5}),
    ready("avg_pool3d_ceil", nn::AvgPool3d{.kernel_size = {3}, .ceil_mode = true}),
    ready("lp_pool1d", nn::LPPool1d{.norm_type = 3, .kernel_size = {2}, .stride = {1}}),
    ready("lp_pool2d", nn::LPPool2d{.norm_type = 2.5, .kernel_size = {3}, .ceil_mode = true}),
    ready("lp_pool3d", nn::LPPool3d{.kernel_size = {2, 3, 2}}),
};

const LayerCases kAdaptive{
    ready("adaptive_avg_pool1d", nn::AdaptiveAvgPool1d{{3}}),
    ready("adaptive_avg_pool2d", nn::AdaptiveAvgPool2d{{-1, 4}}),
    ready("adaptive_avg_pool3d", nn::AdaptiveAvgPool3d{{3}}),
    ready("adaptive_max_pool1d", nn::AdaptiveMaxPool1d{{3}}),
    ready("adaptive_max_pool2d", nn::AdaptiveMaxPool2d{{-1, 4}}),
    ready("adaptive_max_pool3d", nn::AdaptiveMaxPool3d{{3}}),
    ready("adaptive_max_pool1d_indices", with_indices(nn::AdaptiveMaxPool1d{{3}})),
    ready("adaptive_max_pool2d_indices", with_indices(nn::AdaptiveMaxPool2d{{3, 2}})),
    ready("adaptive_max_pool3d_indices", with_indices(nn::AdaptiveMaxPool3d{{3}})),
};

const LayerCases kAtGivenPlaces{
    ready("fractional_max_pool2d",
          nn::FractionalMaxPool2d{
              .kernel_size = {2}, .output_size = {3, 4}, .random_samples = kSamples2}),
    ready("fractional_max_pool3d",
          nn::FractionalMaxPool3d{
              .kernel_size = {2}, .output_ratio = {0.5, 0.7, 0.6}, .random_samples = kSamples3}),
    ready("fractional_max_pool2d_indices",
          with_indices(nn::FractionalMaxPool2d{
              .kernel_size = {2, 3}, .output_ratio = {0.6}, .random_samples = kSamples2})),
    ready<2>("max_unpool1d", nn::MaxUnpool1d{.kernel_size = {2}}),
    ready<2>("max_unpool2d", nn::MaxUnpool2d{.kernel_size = {2}, .stride = {2, 2}}),
    ready<2>("max_unpool3d", nn::MaxUnpool3d{.kernel_size = {2}}),
    ready<2>("max_unpool2d_padding", nn::MaxUnpool2d{.kernel_size = {2}, .padding = {1}}),
};

}  // namespace
}  // namespace plait
