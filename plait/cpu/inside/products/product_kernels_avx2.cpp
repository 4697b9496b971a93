// For x86-64 with AVX2 and FMA; CMakeLists.txt sets the compiler options of this file.
#include "plait/cpu/inside/products/product_kernels_body.h"

namespace plait {
namespace {

struct Level {
  static constexpr int kBytes = 32;
};

}  // namespace

constinit const ProductKernels kProductKernelsAvx2 = product_kernels_body::kernels_of<Level>();

}  // namespace plait
