// Convolutions without columns: a thread computes an element of the result.
#pragma once

#include "plait/cuda/inside/windows/device_convolution.h"

namespace plait::cuda {

// True for depthwise convolutions: products of their matrices would have one row or step.
bool is_direct(const ConvolutionShape& shape);

// Each writes its result: out, x or w.
void convolve_directly(const DeviceConvolution& c);
void find_input_gradient_directly(const DeviceConvolution& c);
void find_weight_gradient_directly(const DeviceConvolution& c);

}  // namespace plait::cuda
