#include "plait/cuda/inside/kernels/prelude.h"

namespace plait::cuda {

std::string_view prelude() {
  return
#include "plait/cuda/inside/kernels/prelude_types.inl"
      ;
}

}  // namespace plait::cuda
