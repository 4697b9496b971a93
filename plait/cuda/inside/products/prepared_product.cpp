#include "plait/cuda/inside/products/prepared_product.h"

#include <array>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/tensor/memory/buffer.h"

namespace plait::cuda {
namespace {

constexpr size_t kCacheCapacity = 1024;

// NVIDIA's advice: 32 MiB from Hopper on.
uint64_t most_workspace_bytes(const CudaDevice& device) {
  return device.architecture() >= 90 ? uint64_t{32} << 20 : uint64_t{4} << 20;
}

// The type of alpha and beta. Products of narrow floats are scaled in f32.
ElementType scale_type(const ProductDescription& description) {
  const ElementType type = description.result;
  return type == ElementType::f16 || type == ElementType::bf16 ? ElementType::f32 : type;
}

// 1 and 0 of any scale type: a complex number begins with its real part.
template <class T>
struct Scales {
  std::array<T, 2> one = {1, 0}, zero = {0, 0};
};
constexpr Scales<float> kSingleScales;
constexpr Scales<double> kDoubleScales;

template <class Descriptor, class... Parameters, class... Arguments>
OwnedDescriptor<Descriptor> created(const char* call,
                                    ProductStatus (*create)(Descriptor*, Parameters...),
                                    Arguments... arguments) {
  Descriptor descriptor = nullptr;
  check_product(create(&descriptor, arguments...), call);
  return OwnedDescriptor<Descriptor>(descriptor);
}

template <class Descriptor, class T>
void set(ProductStatus (*setter)(Descriptor, int, const void*, size_t),
         const OwnedDescriptor<Descriptor>& of, int attribute, const T& value) {
  check_product(setter(of.get(), attribute, &value, sizeof value),
                "setting an attribute of cuBLASLt");
}

OwnedDescriptor<MatrixDescriptor> matrix(const MatrixDescription& m, ElementType type, int64_t rows,
                                         int64_t columns, int64_t count) {
  const CublasLt& lt = cublaslt();
  if (m.is_transposed) std::swap(rows, columns);
  auto descriptor = created("cublasLtMatrixLayoutCreate", lt.create_matrix, static_cast<int>(type),
                            static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), m.leading);
  if (count > 1) {
    set(lt.set_matrix, descriptor, kBatchCount, static_cast<int32_t>(count));
    set(lt.set_matrix, descriptor, kBatchStride, m.batch_stride);
  }
  return descriptor;
}

OwnedDescriptor<ProductPreference> preference(const ProductDescription& d, uint64_t workspace) {
  const CublasLt& lt = cublaslt();
  auto wanted = created("cublasLtMatmulPreferenceCreate", lt.create_preference);
  set(lt.set_preference, wanted, kMostWorkspaceBytes, workspace);
  set(lt.set_preference, wanted, kReductionSchemes, kOrderedParts);
  const std::array<int64_t, 4> alignments = {d.a.alignment, d.b.alignment, d.out.alignment,
                                             d.out.alignment};
  for (size_t i = 0; i < alignments.size(); ++i) {
    set(lt.set_preference, wanted, kLeastAlignments[i], static_cast<uint32_t>(alignments[i]));
  }
  return wanted;
}

}  // namespace

void DestroyDescriptor::operator()(ProductDescriptor descriptor) const noexcept {
  cublaslt().destroy_product(descriptor);
}
void DestroyDescriptor::operator()(MatrixDescriptor descriptor) const noexcept {
  cublaslt().destroy_matrix(descriptor);
}
void DestroyDescriptor::operator()(ProductPreference preference) const noexcept {
  cublaslt().destroy_preference(preference);
}

PreparedProduct::PreparedProduct(const CudaDevice& device, const ProductDescription& description)
    : device_(device), handle_(product_handle(device)), scale_(scale_type(description)) {
  const CublasLt& lt = cublaslt();
  product_ = created("cublasLtMatmulDescCreate", lt.create_product,
                     static_cast<int>(description.computes), static_cast<int>(scale_));
  set(lt.set_product, product_, kTransposeFirst, int32_t{description.a.is_transposed});
  set(lt.set_product, product_, kTransposeSecond, int32_t{description.b.is_transposed});
  const int64_t rows = description.rows, columns = description.columns, steps = description.steps,
                count = description.count;
  a_ = matrix(description.a, description.operands, rows, steps, count);
  b_ = matrix(description.b, description.operands, steps, columns, count);
  out_ = matrix(description.out, description.result, rows, columns, count);
}

bool PreparedProduct::find_algorithm(const ProductDescription& description) {
  const auto wanted = preference(description, most_workspace_bytes(device_));
  FoundAlgorithm found{};
  int count = 0;
  const ProductStatus status =
      cublaslt().find_algorithms(handle_, product_.get(), a_.get(), b_.get(), out_.get(),
                                 out_.get(), wanted.get(), 1, &found, &count);
  if (status == kProductUnsupported) return false;
  check_product(status, "cublasLtMatmulAlgoGetHeuristic");
  if (count == 0 || found.state != kProductSuccess) return false;
  algorithm_ = found.algorithm;
  workspace_bytes_ = static_cast<int64_t>(found.workspace_bytes);
  return true;
}

std::shared_ptr<const PreparedProduct> PreparedProduct::of(const CudaDevice& device,
                                                           const ProductDescription& description) {
  static Immortal<RecentCache<ProductDescription, const PreparedProduct, HashOfProduct>> cache(
      kCacheCapacity);
  return cache->find_or_make(
      description, [&](const ProductDescription& wanted) -> std::shared_ptr<const PreparedProduct> {
        const auto product = std::make_shared<PreparedProduct>(device, wanted);
        return product->find_algorithm(wanted) ? product : nullptr;
      });
}

// Work memory is freed in the order of the stream: after the product.
void PreparedProduct::run(const std::byte* a, const std::byte* b, std::byte* out) const {
  Buffer workspace;
  if (workspace_bytes_ > 0) {
    const Device device(Device::Kind::cuda, static_cast<uint8_t>(device_.index()));
    workspace = Buffer::allocate_on(device, workspace_bytes_);
  }
  const bool is_double = scale_ == ElementType::f64 || scale_ == ElementType::c128;
  const void* const one = is_double ? static_cast<const void*>(&kDoubleScales.one)
                                    : static_cast<const void*>(&kSingleScales.one);
  const void* const zero = is_double ? static_cast<const void*>(&kDoubleScales.zero)
                                     : static_cast<const void*>(&kSingleScales.zero);
  device_.enter();
  check_product(cublaslt().multiply(handle_, product_.get(), one, a, a_.get(), b, b_.get(), zero,
                                    out, out_.get(), out, out_.get(), &algorithm_,
                                    workspace ? workspace.data() : nullptr,
                                    static_cast<size_t>(workspace_bytes_), device_.stream()),
                "cublasLtMatmul");
}

}  // namespace plait::cuda
