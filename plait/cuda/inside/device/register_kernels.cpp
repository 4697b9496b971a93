#include "plait/cuda/inside/device/register_kernels.h"

#include <array>

#include "plait/cuda/inside/elementwise/pointwise.h"
#include "plait/cuda/inside/nests/operations.h"
#include "plait/cuda/inside/products/register_products.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {
namespace {

void register_for_cuda(const ir::Primitive& primitive, void (*run)(KernelCall&, const void*),
                       const void* data = nullptr) {
  register_kernel(primitive, {.run = run, .data = data}, Device::Kind::cuda);
}

// True if the device computes the primitive for any dtype.
bool has_operation(const ir::Primitive& primitive) {
  for (const DTypeInfo& info : kDTypes) {
    const std::array operands = {info.dtype};
    if (primitive.takes.contains(info.dtype) && computes(primitive, operands, info.dtype)) {
      return true;
    }
  }
  return false;
}

void register_elementwise() {
  for (const ir::Primitive* primitive : ir::primitives()) {
    const bool is_elementwise = primitive->elementwise != ir::Elementwise::no ||
                                primitive == &convert_primitive() ||
                                primitive->name == "make_complex";
    const bool has_own = find_device_kernel(*primitive, Device::Kind::cuda) != nullptr;
    if (is_elementwise && !has_own && has_operation(*primitive)) {
      register_for_cuda(*primitive, run_elementwise_call);
    }
  }
  register_for_cuda(iota_primitive(), run_iota);
}

}  // namespace

void register_kernels() {
  register_elementwise();
  register_product_kernels();
}

}  // namespace plait::cuda
