// Conversion of images to columns of windows (im2col), and its adjoint.
#pragma once

#include <utility>

#include "plait/ops/neural/per_dimension.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct UnfoldOptions {
  PerDimension dilation = 1;
  PerDimension padding = 0;  // zeros around the image
  PerDimension stride = 1;
};

// The elements of each window over the last two dimensions of [..., channels, height, width]: [...,
// channels · window, windows], with windows in row-major order.
Tensor unfold(const Tensor& x, const PerDimension& window, const UnfoldOptions& options = {});
// The adjoint of unfold: adds each element of the columns to its place in an image of this size.
Tensor fold(const Tensor& x, const std::vector<Dim>& size, const PerDimension& window,
            const UnfoldOptions& options = {});

}  // namespace plait
