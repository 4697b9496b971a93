// Reductions along axes, on a CUDA device.
#pragma once

#include <cstdint>
#include <span>

#include "plait/ir/index_signature.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// How a primitive reduces; the data of run_reduction.
struct DeviceReduction {
  ir::Reduction reduction = ir::Reduction::sum;
  bool of_squares = false;
};

// `axes` ascend. The result is contiguous, on the device of x; narrow floats are accumulated in
// f32.
void reduce_on_device(const DeviceReduction& how, const Array& x, std::span<const int64_t> axes,
                      Array& result);

void run_reduction(KernelCall& call, const void* data);

}  // namespace plait::cuda
