// Pooling over one to three spatial dimensions of [batch, channels, space…] or [channels, space…].
// One number counts for all dimensions, and the stride is the window size if it is left out:
//
//   const nn::MaxPool2d pool{.kernel_size = {2}};
//   const auto [values, indices] = pool.with_indices(images);
//   const Tensor sparse = nn::MaxUnpool2d{.kernel_size = {2}}(values, indices);
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/nn/buffers.h"
#include "plait/ops/neural/pooling.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// The maximum of each window.
template <size_t rank>
struct MaxPool {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> stride = {};
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> dilation = {1};
  bool ceil_mode = false;  // also counts windows that begin inside and end outside

  Tensor operator()(const Tensor& images) const;
  // With the flat index of each maximum in its plane.
  MaxPooled with_indices(const Tensor& images) const;
};
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

// The mean of each window.
template <size_t rank>
struct AvgPool {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> stride = {};
  std::vector<int64_t> padding = {0};
  bool ceil_mode = false;
  bool count_include_pad = true;                 // means include the zeros of the padding
  std::optional<int64_t> divisor_override = {};  // divides sums by this instead of the count

  Tensor operator()(const Tensor& images) const;
};
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

// The p-norm of each window, without absolute values: (Σ x^p)^(1/p), where p is norm_type.
template <size_t rank>
struct LPPool {
  double norm_type = 2;
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> stride = {};
  bool ceil_mode = false;

  Tensor operator()(const Tensor& images) const;
};
using LPPool1d = LPPool<1>;
using LPPool2d = LPPool<2>;
using LPPool3d = LPPool<3>;

// The means of windows whose size follows from that of the output; −1 keeps a size.
template <size_t rank>
struct AdaptiveAvgPool {
  std::vector<int64_t> output_size;

  Tensor operator()(const Tensor& images) const;
};
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;

// The maxima of windows whose size follows from that of the output; −1 keeps a size.
template <size_t rank>
struct AdaptiveMaxPool {
  std::vector<int64_t> output_size;

  Tensor operator()(const Tensor& images) const;
  MaxPooled with_indices(const Tensor& images) const;
};
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;

// The maxima of windows at random places. Either the output size is given, or its ratio to the size
// of the input, between 0 and 1. Without a key, the next key of the default stream is drawn.
template <size_t rank>
struct FractionalMaxPool {
  static_assert(rank == 2 || rank == 3);
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> output_size = {};
  std::vector<double> output_ratio = {};
  // Determine the places instead of a key: one number in [0, 1) for each plane and dimension,
  // [batch, channels, rank]. PyTorch's _random_samples.
  std::optional<Buffer> random_samples = {};

  Tensor operator()(const Tensor& images, const Tensor& key = {}) const;
  MaxPooled with_indices(const Tensor& images, const Tensor& key = {}) const;
};
using FractionalMaxPool2d = FractionalMaxPool<2>;
using FractionalMaxPool3d = FractionalMaxPool<3>;

// Puts the maxima of MaxPool where their indices say, among zeros. Several output sizes give x when
// they are pooled: the call may choose one, of the space or of all dimensions.
template <size_t rank>
struct MaxUnpool {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> stride = {};
  std::vector<int64_t> padding = {0};

  Tensor operator()(const Tensor& x, const Tensor& indices,
                    const std::vector<Dim>& output_size = {}) const;
};
using MaxUnpool1d = MaxUnpool<1>;
using MaxUnpool2d = MaxUnpool<2>;
using MaxUnpool3d = MaxUnpool<3>;

}  // namespace plait::nn
