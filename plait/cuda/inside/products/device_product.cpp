#include "plait/cuda/inside/products/device_product.h"

#include <algorithm>
#include <limits>

#include "plait/core/error.h"
#include "plait/cuda/inside/products/prepared_product.h"
#include "plait/ops/inside/products/batched_products.h"

namespace plait {

namespace setting {
constinit Setting<Float32Precision> kFloat32MatmulPrecision(
    {.name = "float32_matmul_precision",
     .standard = "highest",
     .description = "products of f32 on CUDA devices: IEEE's f32, or TF32",
     .choices = {"highest", "high"}});
namespace {
const ListedSettings product_settings{&kFloat32MatmulPrecision};
}
}  // namespace setting

namespace cuda {
namespace {

// The library takes sizes of 32 bits.
constexpr int64_t kMostSize = std::numeric_limits<int32_t>::max();
// Longer matrices are multiplied in blocks of rows, and larger batches in parts.
constexpr int64_t kMostRows = int64_t{1} << 30, kMostBatch = 65535;
// Operands are copied rather than multiplied by more calls than this, if each has less work.
constexpr int64_t kFewCalls = 4, kMuchWork = int64_t{1} << 30;

struct ProductTypes {
  ElementType elements;
  ComputeType computes;
};

ProductTypes types_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return {ElementType::f64, ComputeType::f64};
    case DType::c128: return {ElementType::c128, ComputeType::f64};
    case DType::c64: return {ElementType::c64, ComputeType::f32};
    case DType::f16: return {ElementType::f16, ComputeType::f32};
    case DType::bf16: return {ElementType::bf16, ComputeType::f32};
    case DType::f32:
      return {ElementType::f32, setting::kFloat32MatmulPrecision.get() == Float32Precision::high
                                    ? ComputeType::tf32
                                    : ComputeType::f32};
    default: break;
  }
  throw TypeError("cuBLASLt has no products of {}", name_of(dtype));
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

// The products of one call: one batch dimension is the library's, the others are loops.
class Batch {
 public:
  Batch(const CudaDevice& device, const Products& products)
      : device_(device), products_(products), types_(types_of(products.dtype)) {
    const auto& sizes = products_.sizes;
    inner_ = static_cast<size_t>(std::ranges::max_element(sizes) - sizes.begin());
    if (!sizes.empty()) count_ = sizes[inner_];
  }

  int64_t calls() const { return products_.count / count_; }
  bool fits() const {
    const auto fit = [](const auto& m) {
      return std::max(m.row_stride, m.column_stride) <= kMostSize;
    };
    return products_.columns <= kMostSize && products_.steps <= kMostSize && fit(products_.a) &&
           fit(products_.b) && fit(products_.out);
  }

  bool run() {
    for (int64_t call = 0; call < calls(); ++call) {
      for (int64_t first = 0; first < count_; first += kMostBatch) {
        if (!run_part(call, first, std::min(count_ - first, kMostBatch))) return false;
      }
    }
    return true;
  }

 private:
  // A place in the batch, from the number of the call and the index along the inner dimension.
  Products::Single matrices(int64_t call, int64_t index) const {
    Products::Single single{products_.a, products_.b, products_.out};
    const auto move = [&](size_t dimension, int64_t steps) {
      const int64_t bytes = steps * products_.element_size();
      single.a.data += bytes * products_.a_strides[dimension];
      single.b.data += bytes * products_.b_strides[dimension];
      single.out.data += bytes * products_.out_strides[dimension];
    };
    for (size_t i = products_.sizes.size(); i-- > 0;) {
      if (i == inner_) continue;
      move(i, call % products_.sizes[i]);
      call /= products_.sizes[i];
    }
    if (index > 0) move(inner_, index);
    return single;
  }

  bool run_part(int64_t call, int64_t first, int64_t count) {
    const Products::Single all = matrices(call, first);
    const int64_t size = products_.element_size();
    for (int64_t row = 0; row < products_.rows; row += kMostRows) {
      const int64_t rows = std::min(products_.rows - row, kMostRows);
      if (!run_rows({all.a.block(row, 0, rows, products_.steps, size), all.b,
                     all.out.block(row, 0, rows, products_.columns, size)},
                    count)) {
        return false;
      }
    }
    return true;
  }

  // By columns the product is outᵀ = bᵀ · aᵀ.
  bool run_rows(const Products::Single& m, int64_t count) {
    const auto stride = [&](const Sizes& strides) {
      return strides.empty() || count == 1 ? 0 : strides[inner_];
    };
    const ProductDescription description{.device = device_.index(),
                                         .operands = types_.elements,
                                         .result = types_.elements,
                                         .computes = types_.computes,
                                         .rows = products_.columns,
                                         .columns = m.a.rows,
                                         .steps = products_.steps,
                                         .count = count,
                                         .a = described(m.b, stride(products_.b_strides)),
                                         .b = described(m.a, stride(products_.a_strides)),
                                         .out = described(m.out, stride(products_.out_strides))};
    const auto product = PreparedProduct::of(device_, description);
    if (product == nullptr) return false;
    product->run(m.b.data, m.a.data, m.out.data);
    return true;
  }

  const CudaDevice& device_;
  const Products& products_;
  ProductTypes types_;
  size_t inner_ = 0;
  int64_t count_ = 1;
};

bool multiply_into_copy(const CudaDevice& device, const Array& a, const Array& b, Array& out) {
  Array dense = Array::empty_on(out.device(), out.dtype(), out.sizes());
  if (!multiply(device, a, b, dense)) return false;
  copy_elements(dense, out);
  return true;
}

}  // namespace

void fill_with_zeros(const CudaDevice& device, Array& out) {
  if (!out.is_contiguous()) {
    Array dense = Array::empty_on(out.device(), out.dtype(), out.sizes());
    fill_with_zeros(device, dense);
    return copy_elements(dense, out);
  }
  device.enter();
  check(driver().fill_bytes(reinterpret_cast<Address>(out.device_data()), 0,
                            static_cast<size_t>(out.element_count() * out.element_size()),
                            device.stream()),
        "cuMemsetD8Async");
}

bool has_device_product(DType dtype) {
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

bool multiply(const CudaDevice& device, const Array& a, const Array& b, Array& out) {
  if (out.element_count() == 0) return true;
  Products products = products_of(a, b, out.layout(), out.device_data());
  if (products.steps == 0) {
    fill_with_zeros(device, out);
    return true;
  }
  if (!fits_library(products.a) || has_negative_stride(products.a_strides)) {
    return multiply(device, copied(a), b, out);
  }
  if (!fits_library(products.b) || has_negative_stride(products.b_strides)) {
    return multiply(device, a, copied(b), out);
  }
  if (!fits_library(products.out) || has_negative_stride(products.out_strides)) {
    return multiply_into_copy(device, a, b, out);
  }
  if (products.out.column_stride != 1) products = products.transposed();
  Batch batch(device, products);
  if (!batch.fits()) return false;
  if (batch.calls() > kFewCalls && products.work() * (products.count / batch.calls()) < kMuchWork) {
    if (!is_one_batch(a)) return multiply(device, copied(a), b, out);
    if (!is_one_batch(b)) return multiply(device, a, copied(b), out);
  }
  return batch.run();
}

}  // namespace cuda
}  // namespace plait
