#include "plait/cpu/tile_product.h"

#include <algorithm>

#include "plait/core/thread_team.h"
#include "plait/core/whole_numbers.h"
#include "plait/cpu/tile_kernels.h"
#include "plait/tensor/buffer.h"

namespace plait {
namespace {

constexpr int64_t kElement = 2;  // bytes of a bf16
// Rows of a that are packed at once: half of the second cache, through which panels of b pass.
constexpr int64_t kPackedBytes = 1 << 20;
constexpr int64_t kCachedBytes = 1 << 21;  // of a result that is not too large to be found there

// A dimension in blocks of one size, the last of which may be smaller.
struct Blocks {
  int64_t whole, size;

  int64_t count() const { return quotient_up(whole, size); }
  int64_t size_of(int64_t i) const { return std::min(size, whole - i * size); }
};

class TileProduct {
 public:
  TileProduct(const Matrix& a, const Matrix& b, const TargetMatrix& out)
      : a_(a),
        b_(b),
        out_(out),
        panel_bytes_(quotient_up(a.columns, kTilePanel) * 2 * kTileBytes),
        panels_{out.columns, kTilePanel},
        rows_(rows_at_once()),
        column_groups_(std::min(panels_.count(), quotient_up(thread_count(), rows_.count()))),
        packed_b_(Buffer::allocate(panels_.count() * panel_bytes_)) {}

  void run() {
    parallel_for(panels_.count(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Matrix panel = b_.block(0, i * kTilePanel, b_.rows, panels_.size_of(i), kElement);
        kernels_.pack_columns(panel, packed_b_.data() + i * panel_bytes_);
      }
    });
    parallel_for(rows_.count() * column_groups_, 1, [&](int64_t begin, int64_t end) {
      const int64_t row_panels = quotient_up(rows_.size, kTilePanel);
      const Buffer packed_a = Buffer::allocate(row_panels * panel_bytes_);
      const Buffer sums =
          Buffer::allocate(row_panels * kTilePanel * kTilePanel * int64_t{sizeof(float)});
      for (int64_t unit = begin; unit < end; ++unit) run_unit(unit, packed_a.data(), sums.data());
    });
  }

 private:
  // As many blocks for each thread.
  Blocks rows_at_once() const {
    const int64_t most = std::max(kPackedBytes / panel_bytes_, int64_t{1}) * kTilePanel;
    const int64_t threads = thread_count();
    const int64_t blocks = quotient_up(quotient_up(out_.rows, most), threads) * threads;
    return {out_.rows, quotient_up(quotient_up(out_.rows, blocks), kTilePanel) * kTilePanel};
  }

  void run_unit(int64_t unit, std::byte* packed_a, std::byte* sums) const {
    const int64_t block = unit / column_groups_, group = unit % column_groups_;
    const int64_t rows = rows_.size_of(block);
    for (int64_t row = 0; row < rows; row += kTilePanel) {
      const Matrix panel = a_.block(block * rows_.size + row, 0, std::min(kTilePanel, rows - row),
                                    a_.columns, kElement);
      kernels_.pack_rows(panel, packed_a + row / kTilePanel * panel_bytes_);
    }
    const auto first_panel = [&](int64_t g) { return panels_.count() * g / column_groups_; };
    for (int64_t i = first_panel(group); i < first_panel(group + 1); ++i) {
      kernels_.multiply(
          packed_a, packed_b_.data() + i * panel_bytes_, a_.columns, reinterpret_cast<float*>(sums),
          out_.block(block * rows_.size, i * kTilePanel, rows, panels_.size_of(i), kElement),
          out_.rows * out_.columns * kElement > kCachedBytes);
    }
  }

  const TileKernels& kernels_ = *tile_kernels();
  const Matrix a_, b_;
  const TargetMatrix out_;
  const int64_t panel_bytes_;  // packed
  const Blocks panels_;        // of columns
  const Blocks rows_;
  const int64_t column_groups_;
  const Buffer packed_b_;
};

}  // namespace

bool is_worth_tiles(int64_t rows, int64_t columns, int64_t steps) {
  constexpr int64_t kLeastSize = 128, kLeastWork = int64_t{1} << 26;
  return std::min(rows, columns) >= kLeastSize && rows * columns * steps >= kLeastWork &&
         tile_kernels() != nullptr;
}

void tile_product(const Matrix& a, const Matrix& b, const TargetMatrix& out) {
  TileProduct(a, b, out).run();
}

}  // namespace plait
