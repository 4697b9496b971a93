// Windows over images as columns, and columns added up to images.
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

// The elements of each window over the last two dimensions of [..., channels, height, width]:
// [..., channels · window, places], windows in row-major order.
Tensor unfold(const Tensor& x, const PerDimension& window, const UnfoldOptions& options = {});
// The columns of unfold, each element added to where it came from in images of this size.
Tensor fold(const Tensor& x, const std::vector<Dim>& size, const PerDimension& window,
            const UnfoldOptions& options = {});

}  // namespace plait
