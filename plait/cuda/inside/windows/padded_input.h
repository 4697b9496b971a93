// The input of a convolution as cuDNN takes it, which pads both ends of an axis alike.
#pragma once

#include <array>
#include <cstdint>

#include "plait/cuda/inside/windows/device_convolution.h"

namespace plait::cuda {

// Along an axis either the convolution pads both ends by `padding`, or a copy of the input has its
// zeros, and lacks the elements that are cropped or that no window meets. Only the number of
// windows depends on the padding of the far end: often that of the near end gives the same number.
struct PaddedAxis {
  int64_t size = 1;     // that of the input or its copy
  int64_t padding = 0;  // that the convolution adds
  int64_t low = 0;      // zeros that the copy has before the input; negative: elements it lacks
};

struct PaddedInput {
  std::array<PaddedAxis, 3> axes;  // as ConvolutionShape::spatial
  bool is_copy = false;

  // Its sizes, [images, inputs, …], for so many spatial dimensions.
  Sizes sizes(const ConvolutionShape& shape, size_t space) const;
};
PaddedInput padded_input(const ConvolutionShape& shape);

// Between the input and its copy, [images, inputs, …] both: what both have is copied, the rest of
// the target is zero. The target is dense, in any order of its axes.
void pad(const CudaDevice& device, const PaddedInput& padded, const Array& x, Array& copy);
void crop(const CudaDevice& device, const PaddedInput& padded, const Array& copy, Array& x);

}  // namespace plait::cuda
