// Matrix products by oneDNN.
#include <algorithm>
#include <string_view>
#include <vector>

#include "plait/core/hash.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/cpu/inside/libraries/onednn_engine.h"

namespace plait {
namespace {

using dnnl::memory;

constexpr size_t kCacheCapacity = 512;

size_t hash_of_words(std::initializer_list<int64_t> words) {
  uint64_t hash = 0;
  for (const int64_t word : words) hash = hash_combine(hash, static_cast<uint64_t>(word));
  return static_cast<size_t>(hash);
}

struct ShapeHash {
  size_t operator()(const ProductShape& s) const {
    return hash_of_words({static_cast<int64_t>(s.dtype), s.rows, s.columns, s.steps, s.a_row,
                          s.a_step, s.b_step, s.b_column, s.out_row, s.accumulates});
  }
  size_t operator()(const PackedShape& s) const {
    return hash_of_words({static_cast<int64_t>(s.dtype), static_cast<int64_t>(s.b_dtype), s.rows,
                          s.last_rows, s.columns, s.steps, s.a_row, s.b_step, s.b_column,
                          s.packers});
  }
};

memory::desc matrix(DType dtype, int64_t rows, int64_t columns, int64_t row_stride,
                    int64_t column_stride) {
  return {{rows, columns}, *onednn_type(dtype), memory::dims{row_stride, column_stride}};
}

dnnl::matmul::primitive_desc described(const memory::desc& a, const memory::desc& b,
                                       const memory::desc& out, bool accumulates = false) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (accumulates) {
    dnnl::post_ops sum;
    sum.append_sum();
    attributes.set_post_ops(sum);
  }
  return {{a, b, out}, attributes, onednn_engine()};
}

// Null if oneDNN has only its reference implementation for the sizes or this processor: Plait's own
// loops are faster.
std::shared_ptr<OnednnPrimitive> product_of(const dnnl::matmul::primitive_desc& desc) {
  if (std::string_view(desc.impl_info_str()).starts_with("ref")) return nullptr;
  return std::make_shared<OnednnPrimitive>(
      dnnl::matmul(desc), desc.scratchpad_desc(),
      std::vector<OnednnPrimitive::Argument>{{DNNL_ARG_SRC, desc.src_desc()},
                                             {DNNL_ARG_WEIGHTS, desc.weights_desc()},
                                             {DNNL_ARG_DST, desc.dst_desc()}});
}

void run_product(OnednnPrimitive& product, const std::byte* a, const std::byte* b, std::byte* out) {
  void* const data[] = {const_cast<std::byte*>(a), const_cast<std::byte*>(b), out};
  product.run(data);
}

class OnednnProduct : public LibraryProduct {
 public:
  explicit OnednnProduct(std::shared_ptr<OnednnPrimitive> product) : product_(std::move(product)) {}
  void run(const std::byte* a, const std::byte* b, std::byte* out) override {
    run_product(*product_, a, b, out);
  }

 private:
  std::shared_ptr<OnednnPrimitive> product_;
};

std::shared_ptr<OnednnPrimitive> make_product(const ProductShape& s) {
  const DType out = s.accumulates ? DType::f32 : s.dtype;
  return product_of(described(matrix(s.dtype, s.rows, s.steps, s.a_row, s.a_step),
                              matrix(s.dtype, s.steps, s.columns, s.b_step, s.b_column),
                              matrix(out, s.rows, s.columns, s.out_row, 1), s.accumulates));
}

class PackedOnednnProduct : public PackedLibraryProduct {
 public:
  // Queries the layout of b in which `rows` are multiplied fastest; false if it is b's own.
  bool prepare(const PackedShape& s) {
    rows_ = s.rows;
    const memory::desc any({s.steps, s.columns}, *onednn_type(s.dtype), memory::format_tag::any);
    const auto whole = described(a_of(s, s.rows), any, out_of(s, s.rows));
    packed_ = whole.weights_desc();
    if (packed_ == matrix(s.dtype, s.steps, s.columns, s.columns, 1)) return false;
    product_ = product_of(whole);
    last_product_ =
        s.last_rows == s.rows
            ? product_
            : product_of(described(a_of(s, s.last_rows), packed_, out_of(s, s.last_rows)));
    layout_ = layout_of(packed_);
    prepare_packing(s);
    return product_ != nullptr && last_product_ != nullptr;
  }

  int64_t packed_bytes() const override { return static_cast<int64_t>(packed_.get_size()); }
  std::span<const int64_t> packed_layout() const override { return layout_; }
  int64_t parts() const override { return static_cast<int64_t>(packings_.size()); }
  void pack(int64_t part, const std::byte* b, std::byte* packed) override {
    const Packing& packing = packings_[static_cast<size_t>(part)];
    void* const data[] = {const_cast<std::byte*>(b) + packing.offset, packed};
    packing.reorder->run(data);
  }
  void run(int64_t rows, const std::byte* a, const std::byte* packed, std::byte* out) override {
    run_product(rows == rows_ ? *product_ : *last_product_, a, packed, out);
  }

 private:
  // Packing of some columns of b.
  struct Packing {
    int64_t offset;
    std::shared_ptr<OnednnPrimitive> reorder;
  };

  static memory::desc a_of(const PackedShape& s, int64_t rows) {
    return matrix(s.dtype, rows, s.steps, s.a_row, 1);
  }
  static memory::desc out_of(const PackedShape& s, int64_t rows) {
    return matrix(s.dtype, rows, s.columns, s.columns, 1);
  }

  static std::vector<int64_t> layout_of(const memory::desc& matrix) {
    const dnnl_blocking_desc_t& blocks = matrix.data.format_desc.blocking;
    std::vector<int64_t> layout{matrix.data.format_kind, matrix.data.data_type, blocks.inner_nblks};
    for (int i = 0; i < 2; ++i) {
      layout.insert(layout.end(), {matrix.data.padded_dims[i], blocks.strides[i]});
    }
    for (int i = 0; i < blocks.inner_nblks; ++i) {
      layout.insert(layout.end(), {blocks.inner_idxs[i], blocks.inner_blks[i]});
    }
    return layout;
  }

  void prepare_packing(const PackedShape& s) {
    constexpr int64_t kUnit = 64;  // packed matrices are divided at multiples of it
    const int64_t each = quotient_up(quotient_up(s.columns, s.packers), kUnit) * kUnit;
    for (int64_t first = 0; first < s.columns; first += each) {
      const int64_t count = std::min(each, s.columns - first);
      const memory::desc b = matrix(s.b_dtype, s.steps, count, s.b_step, s.b_column);
      const memory::desc part = packed_.submemory_desc({s.steps, count}, {0, first});
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      const dnnl::reorder::primitive_desc desc(onednn_engine(), b, onednn_engine(), part,
                                               attributes);
      packings_.push_back(
          {first * s.b_column * size_of(s.b_dtype),
           std::make_shared<OnednnPrimitive>(
               dnnl::reorder(desc), desc.scratchpad_desc(),
               std::vector<OnednnPrimitive::Argument>{{DNNL_ARG_FROM, b}, {DNNL_ARG_TO, part}})});
    }
  }

  int64_t rows_ = 0;
  memory::desc packed_;
  std::vector<int64_t> layout_;
  std::shared_ptr<OnednnPrimitive> product_, last_product_;
  std::vector<Packing> packings_;
};

}  // namespace

bool library_has_product(DType dtype) { return onednn_type(dtype).has_value(); }

std::shared_ptr<LibraryProduct> library_product(const ProductShape& shape) {
  static Immortal<RecentCache<ProductShape, LibraryProduct, ShapeHash>> cache(kCacheCapacity);
  return cache->find_or_make(
      shape, [](const ProductShape& wanted) -> std::shared_ptr<LibraryProduct> {
        const auto product = make_onednn_primitive([&] { return make_product(wanted); });
        return product ? std::make_shared<OnednnProduct>(product) : nullptr;
      });
}

std::shared_ptr<PackedLibraryProduct> packed_library_product(const PackedShape& shape) {
  static Immortal<RecentCache<PackedShape, PackedLibraryProduct, ShapeHash>> cache(kCacheCapacity);
  return cache->find_or_make(
      shape, [](const PackedShape& wanted) -> std::shared_ptr<PackedLibraryProduct> {
        auto product = std::make_shared<PackedOnednnProduct>();
        bool is_made = false;
        make_by_onednn([&] { is_made = product->prepare(wanted); });
        return is_made ? product : nullptr;
      });
}

}  // namespace plait
