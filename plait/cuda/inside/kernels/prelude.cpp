#include "plait/cuda/inside/kernels/prelude.h"

namespace plait::cuda {

std::string_view prelude() {
  return
#include "plait/cuda/inside/kernels/prelude_arithmetic.inl"
#include "plait/cuda/inside/kernels/prelude_functions.inl"
#include "plait/cuda/inside/kernels/prelude_nests.inl"
#include "plait/cuda/inside/kernels/prelude_special.inl"
#include "plait/cuda/inside/kernels/prelude_types.inl"
      ;
}

}  // namespace plait::cuda
