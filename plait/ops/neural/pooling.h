// Pooling: one number out of each window over the last one, two or three dimensions of
// [batch, channels, space…], or of [channels, space…].
#pragma once

#include <optional>

#include "plait/ops/neural/per_dimension.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct MaxPoolOptions {
  std::optional<PerDimension> stride = {};  // that of the window where not given
  PerDimension padding = 0;                 // at most half a window
  PerDimension dilation = 1;
  bool ceil_mode = false;  // windows that begin inside count also where they end outside
};

struct MaxPooled {
  Tensor values;
  Tensor indices;  // of each value in its plane, in row-major order: the first of several
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
  bool count_include_pad = true;                 // zeros of the padding are averaged too
  std::optional<int64_t> divisor_override = {};  // what sums are divided by instead of the count
};

Tensor avg_pool1d(const Tensor& x, const PerDimension& kernel_size,
                  const AveragePoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const PerDimension& kernel_size,
                  const AveragePoolOptions& options = {});
Tensor avg_pool3d(const Tensor& x, const PerDimension& kernel_size,
                  const AveragePoolOptions& options = {});

// As many windows as asked for (−1: as many as there are elements), which divide the space as
// evenly as whole numbers can; neighbours may share an element.
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
