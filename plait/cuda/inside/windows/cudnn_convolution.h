// Convolutions by cuDNN: of f64, f32, f16 and bf16, accumulated in f64 or f32.
#pragma once

#include "plait/cuda/inside/windows/device_convolution.h"

namespace plait::cuda {

// Each writes its result: out, x or w, none of which is empty. False if the convolution is not for
// cuDNN, or if there is no cuDNN: then the result is undefined, and other kernels compute it.
bool convolve_by_cudnn(const DeviceConvolution& c);
bool find_input_gradient_by_cudnn(const DeviceConvolution& c);
bool find_weight_gradient_by_cudnn(const DeviceConvolution& c);

}  // namespace plait::cuda
