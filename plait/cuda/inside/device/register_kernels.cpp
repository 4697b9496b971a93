#include "plait/cuda/inside/device/register_kernels.h"

#include "plait/cuda/inside/indexing/cuda_gather.h"
#include "plait/cuda/inside/indexing/cuda_nonzero.h"
#include "plait/cuda/inside/indexing/cuda_scatter.h"
#include "plait/cuda/inside/order/cuda_sort.h"
#include "plait/cuda/inside/order/cuda_unique.h"
#include "plait/cuda/inside/random/cuda_random.h"
#include "plait/cuda/inside/reductions/cuda_arg_extreme.h"
#include "plait/cuda/inside/reductions/cuda_scan.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {

void register_kernels() {
  constexpr auto cuda = Device::Kind::cuda;
  register_kernel(gather_primitive(), {run_gather}, cuda);
  register_kernel(nonzero_primitive(), {run_nonzero}, cuda);
  register_scatter_kernels();
  register_kernel(unique_primitive(), {run_unique}, cuda);
  register_kernel(sort_primitive(), {run_sort}, cuda);
  register_kernel(topk_primitive(), {run_topk}, cuda);
  register_kernel(searchsorted_primitive(), {run_search}, cuda);
  register_kernel(argmax_primitive(), {run_argmax}, cuda);
  register_kernel(argmin_primitive(), {run_argmin}, cuda);
  register_scan_kernels();
  register_random_kernels();
}

}  // namespace plait::cuda
