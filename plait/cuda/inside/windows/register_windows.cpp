#include "plait/cuda/inside/windows/register_windows.h"

#include <utility>

#include "plait/cuda/inside/windows/cuda_convolution.h"
#include "plait/cuda/inside/windows/cuda_window.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cuda {

void register_window_kernels() {
  const std::pair<const ir::Primitive&, void (*)(KernelCall&, const void*)> kernels[] = {
      {window_sum_primitive(), run_window_sum},
      {window_spread_primitive(), run_window_spread},
      {window_maximum_primitive(), run_window_maximum},
      {window_maximum_index_primitive(), run_window_maximum_index},
      {convolution_primitive(), run_convolution},
      {convolution_input_gradient_primitive(), run_convolution_input_gradient},
      {convolution_weight_gradient_primitive(), run_convolution_weight_gradient},
  };
  for (const auto& [primitive, run] : kernels) {
    register_kernel(primitive, {run}, Device::Kind::cuda);
  }
}

}  // namespace plait::cuda
