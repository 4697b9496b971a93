#include "plait/nn/layers/pooling_layers.h"

#include "plait/nn/inside/layer_parts.h"

namespace plait::nn {
namespace {

std::optional<PerDimension> if_given(const std::vector<int64_t>& numbers) {
  return numbers.empty() ? std::nullopt : std::optional<PerDimension>(numbers);
}

template <size_t rank>
MaxPoolOptions options_of(const MaxPool<rank>& layer) {
  return {.stride = if_given(layer.stride),
          .padding = layer.padding,
          .dilation = layer.dilation,
          .ceil_mode = layer.ceil_mode};
}

template <size_t rank>
FractionalMaxPoolOptions options_of(const FractionalMaxPool<rank>& layer, const Tensor& key) {
  return {.output_size = if_given(layer.output_size),
          .output_ratio = layer.output_ratio,
          .samples = layer.random_samples ? Tensor(*layer.random_samples) : Tensor(),
          .key = key};
}

}  // namespace

template <size_t rank>
Tensor MaxPool<rank>::operator()(const Tensor& images) const {
  return of_rank<rank>(max_pool1d, max_pool2d, max_pool3d, images, kernel_size, options_of(*this));
}
template <size_t rank>
MaxPooled MaxPool<rank>::with_indices(const Tensor& images) const {
  return of_rank<rank>(max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices,
                       images, kernel_size, options_of(*this));
}

template <size_t rank>
Tensor AvgPool<rank>::operator()(const Tensor& images) const {
  return of_rank<rank>(avg_pool1d, avg_pool2d, avg_pool3d, images, kernel_size,
                       {.stride = if_given(stride),
                        .padding = padding,
                        .ceil_mode = ceil_mode,
                        .count_include_pad = count_include_pad,
                        .divisor_override = divisor_override});
}

template <size_t rank>
Tensor LPPool<rank>::operator()(const Tensor& images) const {
  return of_rank<rank>(lp_pool1d, lp_pool2d, lp_pool3d, images, norm_type, kernel_size,
                       {.stride = if_given(stride), .ceil_mode = ceil_mode});
}

template <size_t rank>
Tensor AdaptiveAvgPool<rank>::operator()(const Tensor& images) const {
  return of_rank<rank>(adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, images,
                       output_size);
}

template <size_t rank>
Tensor AdaptiveMaxPool<rank>::operator()(const Tensor& images) const {
  return of_rank<rank>(adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d, images,
                       output_size);
}
template <size_t rank>
MaxPooled AdaptiveMaxPool<rank>::with_indices(const Tensor& images) const {
  return of_rank<rank>(adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices,
                       adaptive_max_pool3d_with_indices, images, output_size);
}

template <size_t rank>
Tensor FractionalMaxPool<rank>::operator()(const Tensor& images, const Tensor& key) const {
  constexpr auto pool = rank == 2 ? fractional_max_pool2d : fractional_max_pool3d;
  return pool(images, kernel_size, options_of(*this, key));
}
template <size_t rank>
MaxPooled FractionalMaxPool<rank>::with_indices(const Tensor& images, const Tensor& key) const {
  constexpr auto pool =
      rank == 2 ? fractional_max_pool2d_with_indices : fractional_max_pool3d_with_indices;
  return pool(images, kernel_size, options_of(*this, key));
}

template <size_t rank>
Tensor MaxUnpool<rank>::operator()(const Tensor& x, const Tensor& indices,
                                   const std::vector<Dim>& output_size) const {
  return of_rank<rank>(
      max_unpool1d, max_unpool2d, max_unpool3d, x, indices, kernel_size,
      {.stride = if_given(stride), .padding = padding, .output_size = output_size});
}

template struct MaxPool<1>;
template struct MaxPool<2>;
template struct MaxPool<3>;
template struct AvgPool<1>;
template struct AvgPool<2>;
template struct AvgPool<3>;
template struct LPPool<1>;
template struct LPPool<2>;
template struct LPPool<3>;
template struct AdaptiveAvgPool<1>;
template struct AdaptiveAvgPool<2>;
template struct AdaptiveAvgPool<3>;
template struct AdaptiveMaxPool<1>;
template struct AdaptiveMaxPool<2>;
template struct AdaptiveMaxPool<3>;
template struct FractionalMaxPool<2>;
template struct FractionalMaxPool<3>;
template struct MaxUnpool<1>;
template struct MaxUnpool<2>;
template struct MaxUnpool<3>;

}  // namespace plait::nn
