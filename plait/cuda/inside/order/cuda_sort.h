// Sorting and searching along an axis on the device: stable, NaN is the greatest, −0 and 0 are
// equal.
#pragma once

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {

void run_sort(KernelCall& call, const void*);
void run_topk(KernelCall& call, const void*);
void run_search(KernelCall& call, const void*);

// The elements of a vector in order, and where each was, i64.
struct SortedVector {
  Array values, order;
};
SortedVector sorted_vector(CudaDevice& device, const Array& x);

}  // namespace plait::cuda
