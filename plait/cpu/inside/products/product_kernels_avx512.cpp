// For x86-64 with AVX-512; CMakeLists.txt sets the compiler options of this file.
#include "plait/cpu/inside/products/product_kernels_body.h"

namespace plait {
namespace {

struct Level {
  static constexpr int kBytes = 64;
};

}  // namespace

constinit const ProductKernels kProductKernelsAvx512 = product_kernels_body::kernels_of<Level>();

}  // namespace plait
