#include "plait/cuda/inside/products/device_product.h"

#include "plait/cuda/inside/products/cublaslt_product.h"
#include "plait/cuda/inside/products/f8_product.h"
#include "plait/cuda/inside/products/tiled_product.h"

namespace plait::cuda {

void multiply(CudaDevice& device, const Array& a, const Array& b, Array& out) {
  if (out.element_count() == 0) return;
  if (a.sizes()[a.rank() - 1] == 0) return fill_with_zeros(device, out);
  if (out.dtype() == DType::f8e4m3 && multiply_f8(device, a, b, out)) return;
  if (cublaslt_has(a.dtype()) && multiply_by_cublaslt(device, a, b, out)) return;
  multiply_by_tiles(device, a, b, out);
}

void fill_with_zeros(const CudaDevice& device, Array& out) {
  if (!out.is_contiguous()) {
    Array dense = Array::empty_on(out.device(), out.dtype(), out.sizes());
    fill_with_zeros(device, dense);
    return copy_elements(dense, out);
  }
  const auto bytes = static_cast<size_t>(out.element_count() * out.element_size());
  if (bytes == 0) return;
  device.enter();
  check(
      driver().fill_bytes(reinterpret_cast<Address>(out.device_data()), 0, bytes, device.stream()),
      "cuMemsetD8Async");
}

}  // namespace plait::cuda
