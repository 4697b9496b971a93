#include "plait/cpu/inside/repeated_products/paired_product.h"

#include <algorithm>
#include <cstring>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {
namespace {

constexpr int64_t kSize = 2, kWord = 4, kSum = 4;  // bytes

int64_t pairs_of(int64_t steps) { return quotient_up(steps, 2); }

}  // namespace

void PairedProduct::set_b(const Matrix& b) {
  pairs_ = pairs_of(b.rows);
  const int64_t panels = quotient_up(b.columns, kPairedColumns);
  packed_ = reinterpret_cast<uint32_t*>(b_memory_.of(panels * kPairedColumns * pairs_ * kWord));
  for (int64_t first = 0; first < b.columns; first += kPairedColumns) {
    const int64_t count = std::min(kPairedColumns, b.columns - first);
    kernels_.pack_columns(b.block(0, first, b.rows, count, kSize), packed_ + first * pairs_);
  }
}

// A row with adjacent steps is read where it is.
PairedProduct::Rows PairedProduct::paired(const Matrix& a) {
  const int64_t pairs = pairs_of(a.columns);
  if (a.column_stride == 1 && a.columns % 2 == 0 && a.row_stride % 2 == 0 &&
      reinterpret_cast<uintptr_t>(a.data) % kWord == 0) {
    return {reinterpret_cast<const uint32_t*>(a.data), a.rows, a.row_stride / 2, 1, pairs};
  }
  auto* const words = reinterpret_cast<uint32_t*>(a_memory_.of(a.rows * pairs * kWord));
  kernels_.pack_rows(a, words);
  return {words, a.rows, 1, a.rows, pairs};
}

void PairedProduct::multiply(const Matrix& a, int64_t first_row, int64_t first_column,
                             const TargetMatrix& out, bool accumulates) {
  const int64_t size = accumulates ? kSum : kSize;
  for (int64_t row = 0; row < a.rows; row += kPairedRows) {
    const int64_t count = std::min(kPairedRows, a.rows - row);
    const Rows rows = paired(a.block(row, 0, count, a.columns, kSize));
    multiply_rows(rows, first_row, first_column, out.block(row, 0, count, out.columns, size),
                  accumulates);
  }
}

void PairedProduct::multiply_rows(const Rows& a, int64_t first_row, int64_t first_column,
                                  const TargetMatrix& out, bool accumulates) {
  for (int64_t column = 0; column < out.columns; column += kPairedColumns) {
    const uint32_t* const b =
        packed_ + (first_column + column) * pairs_ + first_row / 2 * kPairedColumns;
    const int64_t count = std::min(kPairedColumns, out.columns - column);
    const TargetMatrix into = out.block(0, column, out.rows, count, accumulates ? kSum : kSize);
    auto* const result = reinterpret_cast<float*>(into.data);
    if (accumulates && count == kPairedColumns) {
      kernels_.multiply(a.words, a.rows, a.row_stride, a.pair_stride, b, a.pairs, result,
                        into.row_stride, true);
      continue;
    }
    auto* const sums =
        reinterpret_cast<float*>(sum_memory_.of(kPairedRows * kPairedColumns * kSum));
    kernels_.multiply(a.words, a.rows, a.row_stride, a.pair_stride, b, a.pairs, sums,
                      kPairedColumns, false);
    if (!accumulates) {
      kernels_.round(sums, kPairedColumns, into);
      continue;
    }
    for (int64_t i = 0; i < into.rows; ++i) {
      for (int64_t k = 0; k < count; ++k) {
        result[i * into.row_stride + k] += sums[i * kPairedColumns + k];
      }
    }
  }
}

}  // namespace plait
