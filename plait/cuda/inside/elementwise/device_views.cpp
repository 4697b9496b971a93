#include "plait/cuda/inside/elementwise/device_views.h"

#include "plait/cuda/inside/kernels/device_operands.h"

namespace plait::cuda {

void run_by_views(KernelCall& call, const void*) {
  move_operands(call);
  const Kernel& kernel = kernel_of(call.primitive);
  kernel.run(call, kernel.data);
}

}  // namespace plait::cuda
