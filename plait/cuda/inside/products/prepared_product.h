// A product with the algorithm that cuBLASLt has chosen for it.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/cuda/inside/products/product_description.h"

namespace plait::cuda {

struct DestroyDescriptor {
  void operator()(ProductDescriptor descriptor) const noexcept;
  void operator()(MatrixDescriptor descriptor) const noexcept;
  void operator()(ProductPreference preference) const noexcept;
};
template <class Descriptor>
using OwnedDescriptor = std::unique_ptr<std::remove_pointer_t<Descriptor>, DestroyDescriptor>;

class PreparedProduct {
 public:
  // From a cache, since the choice takes longer than a small product. Null if cuBLASLt has no
  // algorithm. The device is that of the description.
  static std::shared_ptr<const PreparedProduct> of(const CudaDevice& device,
                                                   const ProductDescription& description);
  PreparedProduct(const CudaDevice& device, const ProductDescription& description);

  // Queues the product; the addresses have the alignment of the description. Called by several
  // threads concurrently.
  void run(const std::byte* a, const std::byte* b, std::byte* out) const;

 private:
  bool find_algorithm(const ProductDescription& description);

  const CudaDevice& device_;
  ProductHandle handle_;
  ElementType scale_;  // the type of alpha and beta
  OwnedDescriptor<ProductDescriptor> product_;
  OwnedDescriptor<MatrixDescriptor> a_, b_, out_;
  ProductAlgorithm algorithm_ = {};
  int64_t workspace_bytes_ = 0;
};

}  // namespace plait::cuda
