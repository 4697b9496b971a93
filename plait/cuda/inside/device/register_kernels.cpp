#include "plait/cuda/inside/device/register_kernels.h"

namespace plait::cuda {

void register_kernels() {}

}  // namespace plait::cuda
