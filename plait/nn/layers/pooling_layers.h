// Pooling over one to three spatial dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::nn {

// Pooling; one number counts for all dimensions. The stride is the window size if it is left out.
template <size_t rank>
struct MaxPool {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> stride = {};
  std::vector<int64_t> padding = {0};
  std::vector<int64_t> dilation = {1};
  bool ceil_mode = false;

  Tensor operator()(const Tensor& images) const;
};
using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;

template <size_t rank>
struct AvgPool {
  std::vector<int64_t> kernel_size;
  std::vector<int64_t> stride = {};
  std::vector<int64_t> padding = {0};
  bool ceil_mode = false;
  bool count_include_pad = true;

  Tensor operator()(const Tensor& images) const;
};
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;

}  // namespace plait::nn
