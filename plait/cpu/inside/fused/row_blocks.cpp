#include "plait/cpu/inside/fused/row_blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/cpu/inside/repeated_products/repeated_product.h"

namespace plait::cpu {
namespace {

// Blocks of all arrays of rows together should stay in the second-level cache.
constexpr int64_t kBlockBytes = 1 << 19;
constexpr int64_t kRowUnit = kProductUnit, kMostRows = 256, kMostMaskedRows = 64;
// Each of a few matrices is divided into parts. Those of sums have sums of their own, which are
// added in order, and take no more memory than this unless there are very few.
constexpr int64_t kUsualUnits = 32, kFewUnits = 8, kSumBytes = 1 << 22;
// A range of columns ends at one of about so many places.
constexpr int64_t kColumnPlaces = 16, kLeastColumns = 64;

int64_t rounded_up(int64_t count, int64_t unit) { return quotient_up(count, unit) * unit; }

// The bits of a number without its sign, as an integer: numbers are in the order of their integers,
// and NaN is the greatest. Sums of products of numbers up to the limit are finite.
template <class Word>
constexpr Word kSignless = std::numeric_limits<Word>::max();
constexpr int32_t kLimitOfF32 = std::bit_cast<int32_t>(1e15F);
constexpr int64_t kLimitOfF64 = std::bit_cast<int64_t>(1e150);
constexpr int16_t kLimitOfBf16 = static_cast<int16_t>(kLimitOfF32 >> 16);

template <class Word>
Word greatest(const std::byte* data, int64_t count, int64_t stride) {
  const auto* const words = reinterpret_cast<const Word*>(data);
  Word most = 0;
  if (stride == 1) {
    for (int64_t i = 0; i < count; ++i) {
      most = std::max<Word>(most, words[i] & kSignless<Word>);
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      most = std::max<Word>(most, words[i * stride] & kSignless<Word>);
    }
  }
  return most;
}

template <class Word>
bool are_up_to(Word limit, const Matrix& m) {
  const Matrix lines = m.column_stride == 1 ? m : m.transposed();
  for (int64_t i = 0; i < lines.rows; ++i) {
    const std::byte* const line =
        m.data + i * lines.row_stride * static_cast<int64_t>(sizeof(Word));
    if (greatest<Word>(line, lines.columns, lines.column_stride) > limit) return false;
  }
  return true;
}

// But for the sign.
template <class Word>
bool are_zero(const std::byte* data, int64_t count) {
  const auto* const words = reinterpret_cast<const Word*>(data);
  Word any = 0;
  for (int64_t i = 0; i < count; ++i) any |= words[i];
  return (any & kSignless<Word>) == 0;
}
bool are_zero(DType dtype, const std::byte* data, int64_t count) {
  switch (size_of(dtype)) {
    case 2: return are_zero<int16_t>(data, count);
    case 4: return are_zero<int32_t>(data, count);
    case 8: return are_zero<int64_t>(data, count);
    default: return false;
  }
}

// The first of some bytes that is not 0, or their number; the place after the last one, or 0.
int64_t first_true(const std::byte* bytes, int64_t count) {
  int64_t i = 0;
  for (uint64_t word = 0; i + 8 <= count; i += 8) {
    std::memcpy(&word, bytes + i, 8);
    if (word != 0) break;
  }
  while (i < count && bytes[i] == std::byte{0}) ++i;
  return i;
}
int64_t end_of_true(const std::byte* bytes, int64_t count) {
  int64_t i = count;
  for (uint64_t word = 0; i >= 8; i -= 8) {
    std::memcpy(&word, bytes + i - 8, 8);
    if (word != 0) break;
  }
  while (i > 0 && bytes[i - 1] == std::byte{0}) --i;
  return i;
}

}  // namespace

RowBlocks RowBlocks::of(const Array& a, const Array& b, const RowNeeds& needs) {
  RowBlocks blocks;
  const Sizes sizes = sizes_of_product(a.layout(), b.layout());
  const size_t batch = sizes.size() - 2;
  blocks.batch = Sizes(std::span(sizes.data(), batch));
  blocks.matrices = element_count_of(blocks.batch);
  blocks.rows = sizes[batch];
  blocks.columns = sizes[batch + 1];
  if (blocks.matrices * blocks.rows * blocks.columns == 0) return blocks;
  const int64_t most = kBlockBytes / (blocks.columns * needs.row_bytes) / kRowUnit * kRowUnit;
  const int64_t count = quotient_up(
      blocks.rows, std::clamp(most, kRowUnit, needs.has_mask ? kMostMaskedRows : kMostRows));
  blocks.size = rounded_up(quotient_up(blocks.rows, count), kRowUnit);
  blocks.parts = std::min(quotient_up(kUsualUnits, blocks.matrices), blocks.of_matrix());
  if (needs.sum_bytes > 0) {
    const int64_t most =
        std::max(quotient_up(kFewUnits, blocks.matrices), kSumBytes / needs.sum_bytes);
    blocks.parts = std::min(blocks.parts, most);
  }
  return blocks;
}

ColumnRange RowBlocks::rounded(const ColumnRange& range) const {
  const int64_t unit =
      std::max(rounded_up(quotient_up(columns, kColumnPlaces), kLeastColumns), kLeastColumns);
  if (range.count() <= 0) return {0, 0};
  return {range.first / unit * unit, std::min(rounded_up(range.end, unit), columns)};
}

Matrices::Matrices(Array array, const Sizes& batch) : array_(std::move(array)) {
  const auto matrix_of = [&] {
    const Layout& layout = array_.layout();
    const size_t rank = layout.rank();
    return Matrix{array_.data(), layout.sizes[rank - 2], layout.sizes[rank - 1],
                  layout.strides[rank - 2], layout.strides[rank - 1]};
  };
  matrix_ = matrix_of();
  if (!fits_library(matrix_)) {
    array_ = array_.copy();
    matrix_ = matrix_of();
    fits_library(matrix_);
  }
  const Layout& layout = array_.layout();
  const Layout own{std::span(layout.sizes.data(), layout.rank() - 2),
                   std::span(layout.strides.data(), layout.rank() - 2)};
  batch_ = own.broadcast_to(batch);
}

Matrix Matrices::matrix(int64_t number) const {
  int64_t offset = 0;
  for (size_t i = batch_.rank(); i-- > 0;) {
    offset += number % batch_.sizes[i] * batch_.strides[i];
    number /= batch_.sizes[i];
  }
  Matrix one = matrix_;
  one.data += offset * array_.element_size();
  return one;
}

bool Matrices::are_tame(int64_t number) const {
  const Matrix one = matrix(number);
  switch (dtype()) {
    case DType::f32: return are_up_to(kLimitOfF32, one);
    case DType::f64: return are_up_to(kLimitOfF64, one);
    case DType::bf16: return are_up_to(kLimitOfBf16, one);
    default: return false;
  }
}

MaskRows::MaskRows(const compile::ColumnMask& mask, const std::byte* data,
                   std::span<const Dim> nest_sizes, const compile::KernelSizes& sizes,
                   const RowBlocks& blocks)
    : data_(data), outer_(sizes.outer), columns_(sizes.columns) {
  const auto number = [&](Dim dim) {
    if (dim.is_number()) return dim.number();
    return sizes.values[std::ranges::find_if(nest_sizes, is_same_as(dim)) - nest_sizes.begin()];
  };
  data_ += number(mask.place.offset);
  for (const Dim stride : mask.place.strides) strides_.push_back(number(stride));
  column_stride_ = strides_.back();
  strides_.pop_back();
  find_ranges(blocks);
}

const std::byte* MaskRows::row(int64_t number) const {
  const std::byte* at = data_;
  for (size_t i = outer_.size(); i-- > 0;) {
    at += number % outer_[i] * strides_[i];
    number /= outer_[i];
  }
  return at;
}

ColumnRange MaskRows::columns_of(int64_t first_row, int64_t rows) const {
  ColumnRange range{columns_, 0};
  for (int64_t r = first_row; r < first_row + rows; ++r) {
    const std::byte* const at = row(r);
    if (column_stride_ == 0) {
      if (*at != std::byte{0}) return {0, columns_};
    } else {
      range.first = first_true(at, range.first);
      range.end += end_of_true(at + range.end, columns_ - range.end);
    }
  }
  return range;
}

void MaskRows::find_ranges(const RowBlocks& blocks) {
  for (int64_t matrix = 0; matrix < blocks.matrices; ++matrix) {
    for (int64_t block = 0; block < blocks.of_matrix(); ++block) {
      const int64_t first = blocks.first_row(matrix, block), rows = blocks.rows_of(block);
      const auto [place, is_new] = ranges_.try_emplace({row(first), rows}, ColumnRange{});
      if (is_new) place->second = blocks.rounded(columns_of(first, rows));
    }
  }
}

bool are_above(const std::byte* numbers, DType dtype, int64_t count, double bound) {
  for (int64_t i = 0; i < count; ++i) {
    const double number = load_element(dtype, numbers + i * size_of(dtype)).number.real();
    if (!std::isfinite(number) || !(number > bound)) return false;
  }
  return true;
}

bool are_zero_outside(const ColumnRange& range, DType dtype, const Matrix& rows) {
  const int64_t size = size_of(dtype);
  for (int64_t i = 0; i < rows.rows; ++i) {
    const std::byte* const row = rows.data + i * rows.row_stride * size;
    if (!are_zero(dtype, row, range.first) ||
        !are_zero(dtype, row + range.end * size, rows.columns - range.end)) {
      return false;
    }
  }
  return true;
}

}  // namespace plait::cpu
