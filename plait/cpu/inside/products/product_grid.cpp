#include "plait/cpu/inside/products/product_grid.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {
namespace {

// Blocks consist of whole tiles of the kernels.
constexpr int64_t kRowUnit = 16, kColumnUnit = 64;

// Time of the largest block, relative to an ideal product. Measured: narrow blocks lose the time of
// 8 columns, and the part of b that a block reads repeatedly costs 1 % per MiB.
double cost_of(const ProductGrid& grid, int64_t steps, int64_t element_size) {
  const auto rows = static_cast<double>(quotient_up(grid.rows, kRowUnit) * kRowUnit);
  const auto columns = static_cast<double>(grid.columns);
  const double mebibytes = columns * static_cast<double>(steps * element_size) / (1 << 20);
  return rows * columns * (1 + 8 / columns + 0.01 * std::min(mebibytes, 8.0));
}

}  // namespace

ProductGrid product_grid(int64_t rows, int64_t columns, int64_t steps, int64_t element_size,
                         int64_t wanted) {
  ProductGrid best{1, 1, rows, columns};
  double best_cost = cost_of(best, steps, element_size);
  const auto cut = [](int64_t size, int64_t parts, int64_t unit) {
    return std::min(size, quotient_up(quotient_up(size, parts), unit) * unit);
  };
  for (int64_t row_blocks = 1; row_blocks <= wanted; ++row_blocks) {
    ProductGrid grid;
    grid.rows = cut(rows, row_blocks, kRowUnit);
    grid.columns = cut(columns, wanted / row_blocks, kColumnUnit);
    grid.row_blocks = quotient_up(rows, grid.rows);
    grid.column_blocks = quotient_up(columns, grid.columns);
    const double cost = cost_of(grid, steps, element_size);
    if (cost < best_cost) {
      best = grid;
      best_cost = cost;
    }
  }
  return best;
}

}  // namespace plait
