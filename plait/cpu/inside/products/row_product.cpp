#include "plait/cpu/inside/products/row_product.h"

#include <algorithm>
#include <array>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/cpu/inside/products/bf16_product.h"
#include "plait/cpu/inside/products/blocked_product.h"
#include "plait/cpu/inside/products/matmul.h"
#include "plait/cpu/inside/products/packed_products.h"
#include "plait/ops/inside/products/batched_products.h"

namespace plait {
namespace {

constexpr int64_t kLeastWork = int64_t{1} << 20;
// Size of a block of the result, which should stay in the second-level cache. Matrices b up to this
// size are not packed, but read for each block.
constexpr int64_t kBlockBytes = 1 << 18;
constexpr int64_t kRowUnit = 64;
constexpr int64_t kRoundedGrain = 1 << 14;

// Keeps copied arrays alive.
class CpuRowProduct : public RowProduct {
 public:
  void keep(const Array& a, const Array& b) {
    a_ = a;
    b_ = b;
  }

 private:
  Array a_, b_;
};

// A single matrix b, packed by the library.
class PackedRows final : public CpuRowProduct {
 public:
  explicit PackedRows(std::unique_ptr<PackedProducts> products) : products_(std::move(products)) {}

  int64_t blocks() const override { return products_->row_blocks(); }
  Rows rows(int64_t block) const override {
    return {products_->first_row(block), products_->first_row(block + 1)};
  }
  void compute(int64_t block, std::byte* out) const override { products_->run(block, out); }

 private:
  std::unique_ptr<PackedProducts> products_;
};

// A single matrix b, packed for Plait's own kernels.
class Bf16Rows final : public CpuRowProduct {
 public:
  Bf16Rows(const Matrix& a, const RightMatrix& b) : product_(a, b), columns_(b.matrix.columns) {}

  int64_t blocks() const override { return product_.row_blocks(); }
  Rows rows(int64_t block) const override {
    return {product_.first_row(block), product_.first_row(block + 1)};
  }
  void compute(int64_t block, std::byte* out) const override {
    const auto [first, end] = rows(block);
    product_.run(block, 0, 1, {out, end - first, columns_, columns_, 1}, false);
  }

 private:
  const Bf16Product product_;
  const int64_t columns_;
};

// Each matrix of a batch separately, by the library or by Plait's own loops.
class SingleRows final : public CpuRowProduct {
 public:
  explicit SingleRows(const Products& products) : products_(products), rows_(block_rows()) {
    if (!library_has_product(products_.dtype)) return;
    const int64_t last = products_.rows - (blocks_of_one() - 1) * rows_;
    prepared_ = {prepared(rows_), prepared(last)};
  }

  int64_t blocks() const override { return products_.count * blocks_of_one(); }
  Rows rows(int64_t block) const override {
    const int64_t before = products_.offsets(block / blocks_of_one()).out / products_.columns;
    const int64_t first = block % blocks_of_one() * rows_;
    return {before + first, before + std::min(first + rows_, products_.rows)};
  }
  void compute(int64_t block, std::byte* out) const override {
    const auto at = products_.offsets(block / blocks_of_one());
    const int64_t number = block % blocks_of_one(), size = products_.element_size();
    const int64_t count = std::min(rows_, products_.rows - number * rows_);
    Matrix a = products_.a.block(number * rows_, 0, count, products_.steps, size), b = products_.b;
    a.data += at.a * size;
    b.data += at.b * size;
    const auto& prepared = prepared_[number + 1 == blocks_of_one() ? 1 : 0];
    if (prepared) return prepared->run(a.data, b.data, out);
    blocked_product(products_.dtype, a, b, {out, count, products_.columns, products_.columns, 1});
  }

 private:
  // Small enough that results stay in the cache, and that every thread has some rows.
  int64_t block_rows() const {
    const int64_t row_bytes = products_.columns * products_.element_size();
    const int64_t most = std::max(kBlockBytes / row_bytes / kRowUnit, int64_t{1}) * kRowUnit;
    const int64_t wanted = quotient_up(planned_thread_count(), products_.count);
    const int64_t each = quotient_up(quotient_up(products_.rows, wanted), kRowUnit) * kRowUnit;
    return std::min({most, each, products_.rows});
  }
  int64_t blocks_of_one() const { return quotient_up(products_.rows, rows_); }

  std::shared_ptr<LibraryProduct> prepared(int64_t rows) const {
    const Matrix &a = products_.a, &b = products_.b;
    return library_product({products_.dtype, rows, products_.columns, products_.steps, a.row_stride,
                            a.column_stride, b.row_stride, b.column_stride, products_.columns});
  }

  const Products products_;
  const int64_t rows_;
  std::array<std::shared_ptr<LibraryProduct>, 2> prepared_;  // for a block, and for the last block
};

// Null if b is not packed.
std::unique_ptr<CpuRowProduct> packed(const Products& products, const Array& b) {
  if (products.count != 1) return nullptr;
  const RightMatrix right{products.b, b.dtype(), b.buffer()};
  if (products.dtype == DType::bf16 &&
      is_worth_bf16_kernels(products.rows, products.columns, products.steps)) {
    return std::make_unique<Bf16Rows>(products.a, right);
  }
  auto made = PackedProducts::of(products.dtype, products.a, right);
  return made == nullptr ? nullptr : std::make_unique<PackedRows>(std::move(made));
}

}  // namespace

Array rounded(const Array& b, DType dtype) {
  if (b.dtype() == dtype) return b;
  const Array dense = b.contiguous();
  Array result = Array::empty(dtype, b.sizes());
  const float* const from = dense.elements<float>().data();
  BFloat16* const to = result.writable_elements<BFloat16>().data();
  parallel_for(b.element_count(), kRoundedGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = narrowed_to_bf16(from[i]);
  });
  return result;
}

std::unique_ptr<RowProduct> row_product(const Array& a, const Array& b) {
  const Layout out = Layout::contiguous(sizes_of_product(a.layout(), b.layout()));
  Products products = products_of(a, b, out, nullptr);
  const int64_t threads = planned_thread_count();
  if (products.work() * products.count < kLeastWork) return nullptr;
  if (products.count < threads && products.rows < kRowUnit * threads) return nullptr;
  // Operands whose layout the library does not support are copied.
  if (!fits_library(products.a)) return row_product(a.copy(), b);
  if (!fits_library(products.b)) return row_product(a, b.copy());
  std::unique_ptr<CpuRowProduct> made = packed(products, b);
  if (made == nullptr) {
    const int64_t b_bytes = products.steps * products.columns * products.element_size();
    if (products.count == 1 && b_bytes > kBlockBytes) return nullptr;
    if (b.dtype() != a.dtype()) return row_product(a, rounded(b, a.dtype()));
    made = std::make_unique<SingleRows>(products);
  }
  made->keep(a, b);
  return made;
}

Array whole_product(const Array& a, const Array& b, Array place) {
  if (!place) place = Array::empty(a.dtype(), sizes_of_product(a.layout(), b.layout()));
  matmul(a, rounded(b, a.dtype()), place);
  return place;
}

}  // namespace plait
