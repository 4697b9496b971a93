// Pooling: one number from each window over the last one, two or three dimensions of [batch,
// channels, space…] or [channels, space…].
#pragma once

#include <optional>
#include <vector>

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

struct LpPoolOptions {
  std::optional<PerDimension> stride = {};
  bool ceil_mode = false;
};

// (Σ x^p)^(1/p) over each window, for p = norm_type. With ceil_mode, a sum over a part of a window
// is scaled to a whole one.
Tensor lp_pool1d(const Tensor& x, double norm_type, const PerDimension& kernel_size,
                 const LpPoolOptions& options = {});
Tensor lp_pool2d(const Tensor& x, double norm_type, const PerDimension& kernel_size,
                 const LpPoolOptions& options = {});
Tensor lp_pool3d(const Tensor& x, double norm_type, const PerDimension& kernel_size,
                 const LpPoolOptions& options = {});

struct MaxUnpoolOptions {
  std::optional<PerDimension> stride = {};  // the window size by default
  PerDimension padding = 0;
  // Sizes of the space, or of all dimensions. By default the smallest that gives x when pooled.
  std::vector<Dim> output_size = {};
};

// A partial inverse of max_pool*_with_indices: each value at its index, zeros elsewhere. If an
// index occurs more than once, the last value is kept.
Tensor max_unpool1d(const Tensor& x, const Tensor& indices, const PerDimension& kernel_size,
                    const MaxUnpoolOptions& options = {});
Tensor max_unpool2d(const Tensor& x, const Tensor& indices, const PerDimension& kernel_size,
                    const MaxUnpoolOptions& options = {});
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, const PerDimension& kernel_size,
                    const MaxUnpoolOptions& options = {});

struct FractionalMaxPoolOptions {
  // Either the output size, or its ratio to the size of the input, between 0 and 1.
  std::optional<PerDimension> output_size = {};
  std::vector<double> output_ratio = {};
  // One number in [0, 1) for each plane and dimension, [batch, channels, dimensions], from which
  // the places of the windows follow; the first is for the width in two dimensions, for the depth
  // in three. Drawn by the key if not given; without a key, by the next one of the default stream.
  Tensor samples = {};
  Tensor key = {};
};

// The maxima of windows at pseudorandom places, about equally far apart.
Tensor fractional_max_pool2d(const Tensor& x, const PerDimension& kernel_size,
                             const FractionalMaxPoolOptions& options);
Tensor fractional_max_pool3d(const Tensor& x, const PerDimension& kernel_size,
                             const FractionalMaxPoolOptions& options);
MaxPooled fractional_max_pool2d_with_indices(const Tensor& x, const PerDimension& kernel_size,
                                             const FractionalMaxPoolOptions& options);
MaxPooled fractional_max_pool3d_with_indices(const Tensor& x, const PerDimension& kernel_size,
                                             const FractionalMaxPoolOptions& options);

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
