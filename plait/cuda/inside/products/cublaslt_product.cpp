#include "plait/cuda/inside/products/cublaslt_product.h"

#include <algorithm>
#include <limits>

#include "plait/core/error.h"
#include "plait/cuda/inside/products/prepared_product.h"
#include "plait/cuda/inside/products/product_parts.h"

namespace plait {

namespace setting {
constinit Setting<Float32Precision> kFloat32MatmulPrecision(
    {.name = "float32_matmul_precision",
     .standard = "highest",
     .description = "products and convolutions of f32 on CUDA devices: IEEE's f32, or TF32",
     .choices = {"highest", "high"}});
namespace {
const ListedSettings product_settings{&kFloat32MatmulPrecision};
}
}  // namespace setting

namespace cuda {
namespace {

// The library takes sizes of 32 bits.
constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max();
// Operands are copied rather than multiplied by more calls than this, if each has less work.
constexpr int64_t kFewCalls = 4;
constexpr double kMuchWork = 1 << 30;

ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::f64: return ElementType::f64;
    case DType::f32: return ElementType::f32;
    case DType::f16: return ElementType::f16;
    case DType::bf16: return ElementType::bf16;
    case DType::f8e4m3: return ElementType::f8e4m3;
    case DType::c64: return ElementType::c64;
    case DType::c128: return ElementType::c128;
    default: throw TypeError("cuBLASLt has no products of {}", name_of(dtype));
  }
}

ComputeType compute_type(DType dtype) {
  if (dtype == DType::f64 || dtype == DType::c128) return ComputeType::f64;
  const bool is_high = setting::kFloat32MatmulPrecision.get() == Float32Precision::high;
  return dtype == DType::f32 && is_high ? ComputeType::tf32 : ComputeType::f32;
}

// The bytes that divide an address, at most 256.
int64_t alignment_of(const std::byte* address) {
  const auto bits = reinterpret_cast<uintptr_t>(address) | 256;
  return static_cast<int64_t>(bits & (~bits + 1));
}

// A matrix with contiguous rows is its transpose with contiguous columns.
template <class Byte>
MatrixDescription described(const MatrixOf<Byte>& m, int64_t batch_stride) {
  const bool has_rows = m.column_stride == 1;
  return {.leading = has_rows ? m.row_stride : m.column_stride,
          .is_transposed = !has_rows,
          .batch_stride = batch_stride,
          .alignment = alignment_of(m.data)};
}

// A copy in row-major order. Broadcast batch dimensions are still broadcast, unless the matrices
// could be read as they are, so that it is the batch that must be copied.
Array copied(const Array& x) {
  Layout layout = x.layout();
  Matrix own{nullptr, layout.sizes[layout.rank() - 2], layout.sizes[layout.rank() - 1],
             layout.strides[layout.rank() - 2], layout.strides[layout.rank() - 1]};
  if (fits_library(own)) return x.copy();
  for (size_t i = 0; i + 2 < layout.rank(); ++i) {
    if (layout.strides[i] == 0) layout.sizes[i] = 1;
  }
  const Array copy = x.view(std::move(layout)).copy();
  return copy.view(copy.layout().broadcast_to(x.sizes()));
}

bool has_negative_stride(const Sizes& strides) {
  return std::ranges::any_of(strides, [](int64_t stride) { return stride < 0; });
}

// True if the matrices are at one distance from each other, or were broadcast.
bool is_one_batch(const Array& x) {
  const Layout& layout = x.layout();
  const Layout batch{std::span(layout.sizes.data(), layout.rank() - 2),
                     std::span(layout.strides.data(), layout.rank() - 2)};
  if (batch.repeats()) return true;
  const Layout* only[] = {&batch};
  return JointLayout(only).sizes.size() <= 1;
}

bool fits_sizes(const Products& products) {
  const auto fits = [](const auto& m) {
    return std::max(m.row_stride, m.column_stride) <= kMostSize;
  };
  return products.columns <= kMostSize && products.steps <= kMostSize && fits(products.a) &&
         fits(products.b) && fits(products.out);
}

// By columns the product is outᵀ = bᵀ · aᵀ.
ProductDescription described(const CudaDevice& device, const Products& products, DType result,
                             const ProductPart& part) {
  return {.device = device.index(),
          .operands = element_type(products.dtype),
          .result = element_type(result),
          .computes = compute_type(products.dtype),
          .rows = products.columns,
          .columns = part.first.a.rows,
          .steps = products.steps,
          .count = part.count,
          .a = described(part.first.b, part.b_stride),
          .b = described(part.first.a, part.a_stride),
          .out = described(part.first.out, part.out_stride)};
}

bool run(const CudaDevice& device, const Products& products, DType result) {
  return for_each_part(products, result, [&](const ProductPart& part) {
    const auto prepared = PreparedProduct::of(device, described(device, products, result, part));
    if (prepared == nullptr) return false;
    prepared->run(part.first.b.data, part.first.a.data, part.first.out.data);
    return true;
  });
}

bool multiply_into_copy(const CudaDevice& device, const Array& a, const Array& b, Array& out) {
  Array dense = Array::empty_on(out.device(), out.dtype(), out.sizes());
  if (!multiply_by_cublaslt(device, a, b, dense)) return false;
  copy_elements(dense, out);
  return true;
}

}  // namespace

bool cublaslt_has(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::c64:
    case DType::c128: return true;
    default: return false;
  }
}

bool multiply_by_cublaslt(const CudaDevice& device, const Array& a, const Array& b, Array& out) {
  Products products = products_of(a, b, out.layout(), out.device_data());
  if (!fits_library(products.a) || has_negative_stride(products.a_strides)) {
    return multiply_by_cublaslt(device, copied(a), b, out);
  }
  if (!fits_library(products.b) || has_negative_stride(products.b_strides)) {
    return multiply_by_cublaslt(device, a, copied(b), out);
  }
  if (!fits_library(products.out) || has_negative_stride(products.out_strides)) {
    return multiply_into_copy(device, a, b, out);
  }
  if (products.out.column_stride != 1) products = products.transposed();
  if (!fits_sizes(products)) return false;
  const int64_t calls = count_parts(products), each = products.count / calls;
  const double work = static_cast<double>(products.rows * products.columns) *
                      static_cast<double>(products.steps) * static_cast<double>(each);
  if (calls > kFewCalls && work < kMuchWork) {
    if (!is_one_batch(a)) return multiply_by_cublaslt(device, copied(a), b, out);
    if (!is_one_batch(b)) return multiply_by_cublaslt(device, a, copied(b), out);
  }
  return run(device, products, out.dtype());
}

}  // namespace cuda
}  // namespace plait
