#include "plait/cpu/inside/products/bf16_product.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/libraries/library_product.h"

namespace plait {
namespace {

constexpr int64_t kElement = 2;            // bytes of a bf16
constexpr int64_t kOwnLayout = -1;         // unlike those of libraries
constexpr int64_t kCachedBytes = 1 << 21;  // results up to this size are likely to be read from the
                                           // cache

}  // namespace

int64_t Bf16Product::Blocks::count() const { return quotient_up(whole, size); }
int64_t Bf16Product::Blocks::size_of(int64_t i) const { return std::min(size, whole - i * size); }

Bf16Product::Bf16Product(const Matrix& a, const RightMatrix& b)
    : kernels_(*bf16_kernels()),
      a_(a),
      row_panel_bytes_(kernels_.bytes_of(kernels_.rows, a.columns)),
      column_panel_bytes_(kernels_.bytes_of(kBf16Columns, a.columns)),
      panels_{b.matrix.columns, kBf16Columns},
      rows_(block_rows()) {
  const int64_t layout[] = {kOwnLayout, column_panel_bytes_, kernels_.has_tile_units};
  packed_b_ =
      packed_matrix(b, layout, panels_.count() * column_panel_bytes_, [&](std::byte* packed) {
        parallel_for(panels_.count(), 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const Matrix panel = b.matrix.block(0, i * kBf16Columns, b.matrix.rows,
                                                panels_.size_of(i), size_of(b.dtype));
            kernels_.pack_columns(panel, b.dtype, packed + i * column_panel_bytes_);
          }
        });
      });
}

// Every thread gets equally many blocks.
Bf16Product::Blocks Bf16Product::block_rows() const {
  const int64_t most =
      std::max(kernels_.packed_bytes / row_panel_bytes_, int64_t{1}) * kernels_.rows;
  const int64_t threads = planned_thread_count();
  const int64_t blocks = quotient_up(quotient_up(a_.rows, most), threads) * threads;
  return {a_.rows, quotient_up(quotient_up(a_.rows, blocks), kernels_.rows) * kernels_.rows};
}

int64_t Bf16Product::first_row(int64_t block) const {
  return std::min(block * rows_.size, a_.rows);
}

int64_t Bf16Product::column_groups() const {
  return std::min(panels_.count(), quotient_up(planned_thread_count(), rows_.count()));
}

void Bf16Product::run(int64_t block, int64_t group, int64_t groups, const TargetMatrix& out,
                      bool is_non_temporal) const {
  const int64_t rows = rows_.size_of(block), row_panels = quotient_up(rows, kernels_.rows);
  const Buffer packed_a = Buffer::allocate_work(row_panels * row_panel_bytes_);
  const Buffer sums =
      Buffer::allocate_work(row_panels * kernels_.rows * kBf16Columns * int64_t{sizeof(float)});
  for (int64_t i = 0; i < row_panels; ++i) {
    const int64_t row = i * kernels_.rows;
    const Matrix panel = a_.block(first_row(block) + row, 0, std::min(kernels_.rows, rows - row),
                                  a_.columns, kElement);
    kernels_.pack_rows(panel, packed_a.data() + i * row_panel_bytes_);
  }
  const auto first_panel = [&](int64_t g) { return panels_.count() * g / groups; };
  for (int64_t i = first_panel(group); i < first_panel(group + 1); ++i) {
    kernels_.multiply(packed_a.data(), packed_b_.data() + i * column_panel_bytes_, a_.columns,
                      reinterpret_cast<float*>(sums.data()),
                      out.block(0, i * kBf16Columns, rows, panels_.size_of(i), kElement),
                      is_non_temporal);
  }
}

bool is_worth_bf16_kernels(int64_t rows, int64_t columns, int64_t steps) {
  constexpr int64_t kLeastSize = 128, kLeastWork = int64_t{1} << 26;
  const Bf16Kernels* const kernels = bf16_kernels();
  if (kernels == nullptr || std::min(rows, columns) < kLeastSize) return false;
  // The library's kernels for vectors of pairs are faster by a tenth.
  if (!kernels->has_tile_units && library_has_product(DType::bf16)) return false;
  return rows * columns * steps >= kLeastWork;
}

void bf16_product(const Matrix& a, const RightMatrix& b, const TargetMatrix& out) {
  const Bf16Product product(a, b);
  const int64_t groups = product.column_groups();
  const bool is_non_temporal = out.rows * out.columns * kElement > kCachedBytes;
  parallel_for(product.row_blocks() * groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t block = unit / groups, first = product.first_row(block);
      product.run(block, unit % groups, groups,
                  out.block(first, 0, product.first_row(block + 1) - first, out.columns, kElement),
                  is_non_temporal);
    }
  });
}

}  // namespace plait
