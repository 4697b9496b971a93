// For every processor: vectors of 16 bytes.
#include "plait/cpu/inside/products/product_kernels_body.h"

namespace plait {
namespace {

struct Level {
  static constexpr int kBytes = 16;
};

}  // namespace

constinit const ProductKernels kProductKernels = product_kernels_body::kernels_of<Level>();

}  // namespace plait
