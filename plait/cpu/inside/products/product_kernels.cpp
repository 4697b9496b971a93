// For every processor: the vectors of 16 bytes that all of them have.
#include "plait/cpu/inside/products/product_kernels_body.h"

namespace plait {
namespace {

struct Level {
  static constexpr int kBytes = 16;
};

}  // namespace

constinit const ProductKernels kProductKernels = product_kernels_body::kernels_of<Level>();

}  // namespace plait
