#include "plait/cpu/inside/repeated_products/repeated_product.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/cpu/inside/elementwise/half_precision.h"
#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/cpu/inside/products/bf16_kernels.h"
#include "plait/cpu/inside/products/product_kernels.h"
#include "plait/cpu/inside/repeated_products/paired_product.h"
#include "plait/cpu/inside/repeated_products/scratch.h"

namespace plait {
namespace {

// By Plait's own kernels. b is packed in panels of a few columns, so that a kernel reads each step
// of a panel contiguously.
class PanelProduct final : public RepeatedProduct {
 public:
  explicit PanelProduct(DType dtype)
      : size_(size_of(dtype)),
        tiles_(product_kernels()
                   .of[static_cast<int>(size_ == 4 ? ProductType::f32 : ProductType::f64)]) {}

  void set_b(const Matrix& b) override {
    rows_ = b.rows;
    const int64_t width = tiles_.columns();
    packed_ = b_memory_.of(quotient_up(b.columns, width) * width * b.rows * size_);
    for (int64_t first = 0; first < b.columns; first += width) {
      const Matrix panel = b.block(0, first, b.rows, std::min(width, b.columns - first), size_);
      std::byte* const to = packed_ + first * rows_ * size_;
      size_ == 4 ? pack<uint32_t>(panel, to) : pack<uint64_t>(panel, to);
    }
  }

  void multiply(const Matrix& a, int64_t first_row, int64_t first_column, const TargetMatrix& out,
                bool accumulates) override {
    const int64_t height = tiles_.rows[0];
    for (int64_t row = 0; row < a.rows; row += height) {
      const Matrix rows =
          contiguous(a.block(row, 0, std::min(height, a.rows - row), a.columns, size_));
      const TargetMatrix into = out.block(row, 0, rows.rows, out.columns, size_);
      multiply_rows(rows, first_row, first_column, into, accumulates);
    }
  }

 private:
  // Steps of a that are this far apart compete for the same sets of the first-level cache.
  static constexpr int64_t kCacheStride = 1024;

  template <class Word>
  void pack(const Matrix& panel, std::byte* to) const {
    const int64_t width = tiles_.columns();
    const auto* const from = reinterpret_cast<const Word*>(panel.data);
    auto* const words = reinterpret_cast<Word*>(to);
    if (panel.columns < width) std::memset(to, 0, static_cast<size_t>(width * panel.rows * size_));
    if (panel.column_stride == 1) {
      for (int64_t i = 0; i < panel.rows; ++i) {
        std::memcpy(words + i * width, from + i * panel.row_stride,
                    static_cast<size_t>(panel.columns * size_));
      }
      return;
    }
    for (int64_t k = 0; k < panel.columns; ++k) {
      for (int64_t i = 0; i < panel.rows; ++i) {
        words[i * width + k] = from[i * panel.row_stride + k * panel.column_stride];
      }
    }
  }

  // Rows that are columns in memory are copied, unless they are near each other.
  Matrix contiguous(const Matrix& a) {
    if (a.row_stride != 1 || a.column_stride * size_ < kCacheStride || a.rows == 1) return a;
    std::byte* const to = a_memory_.of(a.rows * a.columns * size_);
    const auto bytes = static_cast<size_t>(a.rows * size_);
    for (int64_t step = 0; step < a.columns; ++step) {
      std::memcpy(to + step * a.rows * size_, a.data + step * a.column_stride * size_, bytes);
    }
    return {to, a.rows, a.columns, 1, a.rows};
  }

  void multiply_rows(const Matrix& a, int64_t first_row, int64_t first_column,
                     const TargetMatrix& out, bool accumulates) {
    const int64_t width = tiles_.columns();
    for (int64_t column = 0; column < out.columns;) {
      const int64_t within = (first_column + column) % width;
      const int64_t panel = first_column + column - within;
      const int64_t count = std::min(width - within, out.columns - column);
      const std::byte* const b = packed_ + (panel * rows_ + first_row * width) * size_;
      const TargetMatrix into = out.block(0, column, a.rows, count, size_);
      count == width ? run_tiles(a, b, into.data, into.row_stride, accumulates)
                     : run_partial(a, b, within, into, accumulates);
      column += count;
    }
  }

  // A panel of which only some columns are computed: all are, into memory of their own.
  void run_partial(const Matrix& a, const std::byte* b, int64_t within, const TargetMatrix& out,
                   bool accumulates) {
    const int64_t width = tiles_.columns();
    std::byte* const sums = out_memory_.of(a.rows * width * size_);
    const auto bytes = static_cast<size_t>(out.columns * size_);
    std::memset(sums, 0, static_cast<size_t>(a.rows * width * size_));
    for (int64_t i = 0; accumulates && i < a.rows; ++i) {
      std::memcpy(sums + (i * width + within) * size_, out.data + i * out.row_stride * size_,
                  bytes);
    }
    run_tiles(a, b, sums, width, accumulates);
    for (int64_t i = 0; i < a.rows; ++i) {
      std::memcpy(out.data + i * out.row_stride * size_, sums + (i * width + within) * size_,
                  bytes);
    }
  }

  void run_tiles(const Matrix& a, const std::byte* b, std::byte* c, int64_t c_row,
                 bool accumulates) const {
    int64_t row = 0;
    for (int choice = 0; row < a.rows; ++choice) {
      const int64_t height = tiles_.rows[choice];
      for (; a.rows - row >= height; row += height) {
        tiles_.tiles[choice][tiles_.vectors - 1](
            a.data + row * a.row_stride * size_, a.row_stride, a.column_stride, b, tiles_.columns(),
            c + row * c_row * size_, c_row, a.columns, accumulates);
      }
    }
  }

  const int64_t size_;
  const ProductTiles& tiles_;
  int64_t rows_ = 0;
  std::byte* packed_ = nullptr;
  Scratch a_memory_, b_memory_, out_memory_;
};

// Computes in f32.
template <class T>
class WideningProduct final : public RepeatedProduct {
 public:
  void set_b(const Matrix& b) override { wide_.set_b(widened(b, b_memory_)); }

  void multiply(const Matrix& a, int64_t first_row, int64_t first_column, const TargetMatrix& out,
                bool accumulates) override {
    const Matrix wide = widened(a, a_memory_);
    if (accumulates) return wide_.multiply(wide, first_row, first_column, out, true);
    const TargetMatrix sums{sum_memory_.of(out.rows * out.columns * kWide), out.rows, out.columns,
                            out.columns, 1};
    wide_.multiply(wide, first_row, first_column, sums, false);
    for (int64_t i = 0; i < out.rows; ++i) {
      const auto* const from = reinterpret_cast<const float*>(sums.data) + i * sums.row_stride;
      auto* const to = reinterpret_cast<T*>(out.data) + i * out.row_stride;
      for (int64_t k = 0; k < out.columns; ++k) to[k] = narrowed(from[k]);
    }
  }

 private:
  static constexpr int64_t kWide = sizeof(float);

  static T narrowed(float value) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      return narrowed_to_bf16(value);
    } else {
      return narrowed_to_f16(value);
    }
  }

  // A copy with adjacent columns.
  static Matrix widened(const Matrix& m, Scratch& memory) {
    std::byte* const data = memory.of(m.rows * m.columns * kWide);
    auto* to = reinterpret_cast<float*>(data);
    for (int64_t i = 0; i < m.rows; ++i) {
      const auto* const from = reinterpret_cast<const T*>(m.data) + i * m.row_stride;
      for (int64_t k = 0; k < m.columns; ++k) *to++ = plait::widened(from[k * m.column_stride]);
    }
    return {data, m.rows, m.columns, m.columns, 1};
  }

  PanelProduct wide_{DType::f32};
  Scratch a_memory_, b_memory_, sum_memory_;
};

// By the library, which prepares a product for each shape.
class PreparedProducts final : public RepeatedProduct {
 public:
  void set_b(const Matrix& b) override {
    b_ = b;
    is_b_widened_ = false;
  }

  void multiply(const Matrix& a, int64_t first_row, int64_t first_column, const TargetMatrix& out,
                bool accumulates) override {
    const Matrix b = b_.block(first_row, first_column, a.columns, out.columns, sizeof(BFloat16));
    LibraryProduct* const product =
        prepared({DType::bf16, a.rows, out.columns, a.columns, a.row_stride, a.column_stride,
                  b.row_stride, b.column_stride, out.row_stride, accumulates});
    if (product != nullptr) return product->run(a.data, b.data, out.data);
    if (!std::exchange(is_b_widened_, true)) widening_.set_b(b_);
    widening_.multiply(a, first_row, first_column, out, accumulates);
  }

 private:
  // Null if the library has no implementation.
  LibraryProduct* prepared(const ProductShape& shape) {
    for (const auto& [known, product] : known_) {
      if (known == shape) return product.get();
    }
    return known_.emplace_back(shape, library_product(shape)).second.get();
  }

  Matrix b_;
  std::vector<std::pair<ProductShape, std::shared_ptr<LibraryProduct>>> known_;
  bool is_b_widened_ = false;
  WideningProduct<BFloat16> widening_;
};

}  // namespace

std::unique_ptr<RepeatedProduct> repeated_product(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::f64: return std::make_unique<PanelProduct>(dtype);
    case DType::bf16:
      // The library uses tile units, which are faster.
      if (const auto* const kernels = paired_kernels();
          kernels && !bf16_kernels()->has_tile_units) {
        return std::make_unique<PairedProduct>(*kernels);
      }
      if (library_has_product(dtype)) return std::make_unique<PreparedProducts>();
      return std::make_unique<WideningProduct<BFloat16>>();
    case DType::f16: return std::make_unique<WideningProduct<Float16>>();
    default: return nullptr;
  }
}

}  // namespace plait
