// A convolution of arrays on a CUDA device, and what its kernels get.
#pragma once

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/windows/convolution_text.h"
#include "plait/ops/inside/neural/convolution_shape.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// One of the three arrays is the result, and contiguous; the others have any layouts.
struct DeviceConvolution {
  CudaDevice& device;
  ConvolutionShape shape;
  Array x, w, out;

  Device place() const { return x.device(); }
  // The dtype of sums that are kept: f32 for narrow floats.
  DType stored() const;
  int64_t places() const { return shape.out_places(); }

  Convolved convolved() const;
  // For a kernel that counts up to `total`.
  ConvolvedForm form(int64_t total) const;
};

}  // namespace plait::cuda
