// Matrix products by oneDNN.
#include <string_view>
#include <vector>

#include "plait/core/hash.h"
#include "plait/core/immortal.h"
#include "plait/cpu/library_product.h"
#include "plait/cpu/onednn_engine.h"
#include "plait/cpu/recent_cache.h"

namespace plait {
namespace {

using dnnl::memory;

constexpr size_t kCacheCapacity = 512;

struct ShapeHash {
  size_t operator()(const ProductShape& shape) const {
    uint64_t hash = static_cast<uint64_t>(shape.dtype);
    for (const int64_t word : {shape.rows, shape.columns, shape.steps, shape.a_row, shape.a_step,
                               shape.b_step, shape.b_column, shape.out_row}) {
      hash = hash_combine(hash, static_cast<uint64_t>(word));
    }
    return static_cast<size_t>(hash);
  }
};

class OnednnProduct : public LibraryProduct {
 public:
  explicit OnednnProduct(std::shared_ptr<OnednnPrimitive> primitive)
      : primitive_(std::move(primitive)) {}
  void run(const std::byte* a, const std::byte* b, std::byte* out) override {
    void* const data[] = {const_cast<std::byte*>(a), const_cast<std::byte*>(b), out};
    primitive_->run(data);
  }

 private:
  std::shared_ptr<OnednnPrimitive> primitive_;
};

std::shared_ptr<OnednnPrimitive> make_primitive(const ProductShape& shape) {
  const auto type = *onednn_type(shape.dtype);
  const memory::desc a({shape.rows, shape.steps}, type, memory::dims{shape.a_row, shape.a_step});
  const memory::desc b({shape.steps, shape.columns}, type,
                       memory::dims{shape.b_step, shape.b_column});
  const memory::desc out({shape.rows, shape.columns}, type, memory::dims{shape.out_row, 1});
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const dnnl::matmul::primitive_desc desc({a, b, out}, attributes, onednn_engine());
  // What has no vector kernel for the sizes or this processor is done faster by our own.
  if (std::string_view(desc.impl_info_str()).starts_with("ref")) return nullptr;
  return std::make_shared<OnednnPrimitive>(
      dnnl::matmul(desc), desc.scratchpad_desc(),
      std::vector<OnednnPrimitive::Argument>{
          {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, out}});
}

}  // namespace

bool library_has_product(DType dtype) { return onednn_type(dtype).has_value(); }

std::shared_ptr<LibraryProduct> library_product(const ProductShape& shape) {
  static Immortal<RecentCache<ProductShape, LibraryProduct, ShapeHash>> cache(kCacheCapacity);
  return cache->find_or_make(
      shape, [](const ProductShape& wanted) -> std::shared_ptr<LibraryProduct> {
        const auto primitive = make_onednn_primitive([&] { return make_primitive(wanted); });
        return primitive ? std::make_shared<OnednnProduct>(primitive) : nullptr;
      });
}

}  // namespace plait
