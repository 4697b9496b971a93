// Convolutions over one to three spatial dimensions. `init` as in linear_layers.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/ops/arrays/pad.h"
#include "plait/ops/neural/per_dimension.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

struct ConvOptions {
  PerDimension stride = 1;
  PerDimension padding = 0;
  bool same_padding = false;  // PyTorch's padding="same": the result has the sizes of the images
  PerDimension dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  PadMode padding_mode = PadMode::constant;  // zeros, or elements of the image
  DType dtype = DType::f32;
};
// Convolution of [batch, channels, space…].
template <size_t rank>
struct Conv {
  Tensor weight;               // [outputs, channels / groups, space…]
  std::optional<Tensor> bias;  // [outputs]
  std::vector<int64_t> stride = std::vector<int64_t>(rank, 1);
  std::vector<int64_t> padding = std::vector<int64_t>(rank, 0);  // before each dimension
  std::vector<int64_t> padding_after = {};                       // as before by default
  std::vector<int64_t> dilation = std::vector<int64_t>(rank, 1);
  int64_t groups = 1;
  PadMode padding_mode = PadMode::constant;

  static Conv init(const Tensor& key, int64_t channels, int64_t outputs, const PerDimension& window,
                   const ConvOptions& options = {});
  Tensor operator()(const Tensor& images) const;
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;

struct ConvTransposeOptions {
  PerDimension stride = 1;
  PerDimension padding = 0;
  PerDimension output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  PerDimension dilation = 1;
  DType dtype = DType::f32;
};
// Transposed convolution of [batch, channels, space…].
template <size_t rank>
struct ConvTranspose {
  Tensor weight;               // [channels, outputs / groups, space…]
  std::optional<Tensor> bias;  // [outputs]
  std::vector<int64_t> stride = std::vector<int64_t>(rank, 1);
  std::vector<int64_t> padding = std::vector<int64_t>(rank, 0);
  std::vector<int64_t> output_padding = std::vector<int64_t>(rank, 0);
  std::vector<int64_t> dilation = std::vector<int64_t>(rank, 1);
  int64_t groups = 1;

  static ConvTranspose init(const Tensor& key, int64_t channels, int64_t outputs,
                            const PerDimension& window, const ConvTransposeOptions& options = {});
  Tensor operator()(const Tensor& images) const;
  // With one of the several sizes that give the images when they are convolved, of the space or of
  // all dimensions.
  Tensor operator()(const Tensor& images, const std::vector<Dim>& output_size) const;
};
using ConvTranspose1d = ConvTranspose<1>;
using ConvTranspose2d = ConvTranspose<2>;
using ConvTranspose3d = ConvTranspose<3>;

}  // namespace plait::nn
