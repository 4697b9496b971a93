#include "plait/cpu/inside/products/tile_product.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/products/tile_kernels.h"

namespace plait {
namespace {

constexpr int64_t kElement = 2;  // bytes of a bf16
// Packed rows of a: half of the second-level cache, through which panels of b pass.
constexpr int64_t kPackedBytes = 1 << 20;
constexpr int64_t kCachedBytes = 1 << 21;  // results up to this size are likely to be read from the
                                           // cache

}  // namespace

int64_t TileProduct::Blocks::count() const { return quotient_up(whole, size); }
int64_t TileProduct::Blocks::size_of(int64_t i) const { return std::min(size, whole - i * size); }

TileProduct::TileProduct(const Matrix& a, const Matrix& b, DType b_dtype)
    : a_(a),
      b_(b),
      panel_bytes_(quotient_up(a.columns, kTilePanel) * 2 * kTileBytes),
      panels_{b.columns, kTilePanel},
      rows_(block_rows()),
      packed_b_(Buffer::allocate_work(panels_.count() * panel_bytes_)) {
  parallel_for(panels_.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Matrix panel =
          b_.block(0, i * kTilePanel, b_.rows, panels_.size_of(i), size_of(b_dtype));
      tile_kernels()->pack_columns(panel, b_dtype, packed_b_.data() + i * panel_bytes_);
    }
  });
}

// Every thread gets equally many blocks.
TileProduct::Blocks TileProduct::block_rows() const {
  const int64_t most = std::max(kPackedBytes / panel_bytes_, int64_t{1}) * kTilePanel;
  const int64_t threads = planned_thread_count();
  const int64_t blocks = quotient_up(quotient_up(a_.rows, most), threads) * threads;
  return {a_.rows, quotient_up(quotient_up(a_.rows, blocks), kTilePanel) * kTilePanel};
}

int64_t TileProduct::first_row(int64_t block) const {
  return std::min(block * rows_.size, a_.rows);
}

int64_t TileProduct::column_groups() const {
  return std::min(panels_.count(), quotient_up(planned_thread_count(), rows_.count()));
}

void TileProduct::run(int64_t block, int64_t group, int64_t groups, const TargetMatrix& out,
                      bool is_non_temporal) const {
  const int64_t rows = rows_.size_of(block), row_panels = quotient_up(rows, kTilePanel);
  const Buffer packed_a = Buffer::allocate_work(row_panels * panel_bytes_);
  const Buffer sums =
      Buffer::allocate_work(row_panels * kTilePanel * kTilePanel * int64_t{sizeof(float)});
  for (int64_t row = 0; row < rows; row += kTilePanel) {
    const Matrix panel =
        a_.block(first_row(block) + row, 0, std::min(kTilePanel, rows - row), a_.columns, kElement);
    tile_kernels()->pack_rows(panel, packed_a.data() + row / kTilePanel * panel_bytes_);
  }
  const auto first_panel = [&](int64_t g) { return panels_.count() * g / groups; };
  for (int64_t i = first_panel(group); i < first_panel(group + 1); ++i) {
    tile_kernels()->multiply(packed_a.data(), packed_b_.data() + i * panel_bytes_, a_.columns,
                             reinterpret_cast<float*>(sums.data()),
                             out.block(0, i * kTilePanel, rows, panels_.size_of(i), kElement),
                             is_non_temporal);
  }
}

bool is_worth_tiles(int64_t rows, int64_t columns, int64_t steps) {
  constexpr int64_t kLeastSize = 128, kLeastWork = int64_t{1} << 26;
  return std::min(rows, columns) >= kLeastSize && rows * columns * steps >= kLeastWork &&
         tile_kernels() != nullptr;
}

void tile_product(const Matrix& a, const Matrix& b, const TargetMatrix& out) {
  const TileProduct product(a, b);
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
