#include "plait/cuda/inside/products/f8_product.h"

#include <algorithm>

#include "plait/cuda/inside/kernels/launch.h"
#include "plait/cuda/inside/products/cublaslt_product.h"
#include "plait/cuda/inside/products/product_parts.h"

namespace plait::cuda {

const char* const kRoundSumsText = R"cuda(
extern "C" __global__ void round_sums(const f32* sums, f8e4m3* out, i64 count) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = Memory<f8e4m3>::write(sums[i]);
}
)cuda";

namespace {

constexpr int kLeastArchitecture = 89, kUnit = 16, kRoundingThreads = 256;

bool fits_unit(int64_t number) { return number % kUnit == 0; }

// The lines along k: contiguous, and aligned.
bool has_lines(const std::byte* data, int64_t stride_along, int64_t stride_across,
               const Sizes& batch_strides) {
  return stride_along == 1 && stride_across > 0 && fits_unit(stride_across) &&
         reinterpret_cast<uintptr_t>(data) % kUnit == 0 &&
         std::ranges::all_of(batch_strides, fits_unit);
}

bool has_tensor_core_layout(const Array& a, const Array& b, const Array& sums) {
  const Products p = products_of(a, b, sums.layout(), sums.device_data());
  return fits_unit(p.steps) && fits_unit(p.columns) &&
         has_lines(p.a.data, p.a.column_stride, p.a.row_stride, p.a_strides) &&
         has_lines(p.b.data, p.b.row_stride, p.b.column_stride, p.b_strides);
}

void round_sums(CudaDevice& device, const Array& sums, Array& out) {
  const int64_t count = sums.element_count();
  launch(device, kernel(device, kRoundSums, kRoundSumsText),
         {(count + kRoundingThreads - 1) / kRoundingThreads}, kRoundingThreads, 0,
         reinterpret_cast<Address>(sums.device_data()),
         reinterpret_cast<Address>(out.device_data()), count);
}

}  // namespace

bool multiply_f8(CudaDevice& device, const Array& a, const Array& b, Array& out) {
  if (device.architecture() < kLeastArchitecture || !out.is_contiguous()) return false;
  Array sums = Array::empty_on(out.device(), DType::f32, out.sizes());
  if (!has_tensor_core_layout(a, b, sums)) return false;
  if (!multiply_by_cublaslt(device, a, b, sums)) return false;
  round_sums(device, sums, out);
  return true;
}

}  // namespace plait::cuda
