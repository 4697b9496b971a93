// Pooling: one number from each window over the last one, two or three dimensions of [batch,
// channels, space…] or [channels, space…].
#pragma once

#include <optional>

#include "plait/ops/neural/per_dimension.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct MaxPoolOptions {
  std::optional<PerDimension> stride = {};  // the window size by default
  PerDimension padding = 0;                 // at most half a window
  PerDimension dilation = 1;
  bool ceil_mode = false;  // also counts windows that begin inside and end outside
};

struct MaxPooled {
  Tensor values;
  Tensor indices;  // flat index of each value in its plane, row-major; the first one of equal
                   // values
};

Tensor max_pool1d(const Tensor& x, const PerDimension& kernel_size,
                  const MaxPoolOptions& options = {});
Tensor max_pool2d(const Tensor& x, const PerDimension& kernel_size,
                  const MaxPoolOptions& options = {});
Tensor max_pool3d(const Tensor& x, const PerDimension& kernel_size,
                  const MaxPoolOptions& options = {});
MaxPooled max_pool1d_with_indices(const Tensor& x, const PerDimension& kernel_size,
                                  const MaxPoolOptions& options = {});
MaxPooled max_pool2d_with_indices(const Tensor& x, const PerDimension& kernel_size,
                                  const MaxPoolOptions& options = {});
MaxPooled max_pool3d_with_indices(const Tensor& x, const PerDimension& kernel_size,
                                  const MaxPoolOptions& options = {});

struct AveragePoolOptions {
  std::optional<PerDimension> stride = {};
  PerDimension padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;                 // averages include the zeros of the padding
  std::optional<int64_t> divisor_override = {};  // divides sums by this instead of the count
};

Tensor avg_pool1d(const Tensor& x, const PerDimension& kernel_size,
                  const AveragePoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const PerDimension& kernel_size,
                  const AveragePoolOptions& options = {});
Tensor avg_pool3d(const Tensor& x, const PerDimension& kernel_size,
                  const AveragePoolOptions& options = {});

// Pooling to a given output size (−1: that of the input). Windows divide the space as evenly as
// possible; neighbouring windows may overlap by one element.
Tensor adaptive_avg_pool1d(const Tensor& x, const PerDimension& output_size);
Tensor adaptive_avg_pool2d(const Tensor& x, const PerDimension& output_size);
Tensor adaptive_avg_pool3d(const Tensor& x, const PerDimension& output_size);
Tensor adaptive_max_pool1d(const Tensor& x, const PerDimension& output_size);
Tensor adaptive_max_pool2d(const Tensor& x, const PerDimension& output_size);
Tensor adaptive_max_pool3d(const Tensor& x, const PerDimension& output_size);
MaxPooled adaptive_max_pool1d_with_indices(const Tensor& x, const PerDimension& output_size);
MaxPooled adaptive_max_pool2d_with_indices(const Tensor& x, const PerDimension& output_size);
MaxPooled adaptive_max_pool3d_with_indices(const Tensor& x, const PerDimension& output_size);

}  // namespace plait
