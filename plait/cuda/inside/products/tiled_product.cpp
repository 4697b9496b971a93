#include "plait/cuda/inside/products/tiled_product.h"

#include <array>
#include <atomic>

#include <fmt/format.h>

#include "plait/core/device.h"
#include "plait/cuda/inside/kernels/launch.h"
#include "plait/cuda/inside/kernels/sum_type.h"
#include "plait/cuda/inside/products/product_parts.h"

namespace plait::cuda {
namespace {

constexpr int kSide = 16, kThreads = kSide * kSide;
constexpr const char* kBody =
#include "plait/cuda/inside/products/tiled_product.inl"
    ;

// Kept, since the table of kernels is asked by their text.
const KernelFunction& tiled_kernel(CudaDevice& device, DType dtype, DType result, int each) {
  using OfDevice = std::array<std::array<std::atomic<const KernelFunction*>, 4>, kDTypeCount>;
  static std::array<OfDevice, Device::kMost> found;
  auto& place = found[static_cast<size_t>(device.index())][static_cast<size_t>(dtype)]
                     [(each == kSmallTiles ? 0 : 1) + (result == dtype ? 0 : 2)];
  const KernelFunction* function = place.load(std::memory_order_acquire);
  if (function == nullptr) {
    function = &kernel(device, kTiledProduct, tiled_product_text(dtype, result, each));
    place.store(function, std::memory_order_release);
  }
  return *function;
}

int64_t tiles(int64_t size, int each) { return (size + kSide * each - 1) / (kSide * each); }

}  // namespace

std::string tiled_product_text(DType dtype, DType result, int each) {
  return fmt::format(
      "typedef {} ProductElement;\ntypedef {} ProductResult;\ntypedef {} ProductSum;\n"
      "enum {{ kEach = {} }};\n{}",
      name_of(dtype), name_of(result), sum_type(dtype), each, kBody);
}

void multiply_by_tiles(CudaDevice& device, const Array& a, const Array& b, Array& out) {
  const Products products = products_of(a, b, out.layout(), out.device_data());
  const bool is_small = products.rows <= kSide || products.columns <= kSide;
  const int each = is_small ? kSmallTiles : kLargeTiles;
  const KernelFunction& function = tiled_kernel(device, products.dtype, out.dtype(), each);
  for_each_part(products, out.dtype(), [&](const ProductPart& part) {
    const auto& [left, right, result] = part.first;
    launch(device, function,
           {.x = tiles(left.rows, each) * tiles(right.columns, each), .z = part.count}, kThreads, 0,
           reinterpret_cast<Address>(left.data), reinterpret_cast<Address>(right.data),
           reinterpret_cast<Address>(result.data), left.rows, right.columns, products.steps,
           left.row_stride, left.column_stride, right.row_stride, right.column_stride,
           result.row_stride, result.column_stride, part.a_stride, part.b_stride, part.out_stride);
    return true;
  });
}

}  // namespace plait::cuda
