// A 32-bit word has a pair of steps. Panels are words [pairs][12] of rows of a, [pairs][32] of
// columns of b: the sums of 12 rows are 24 registers, and a pair of b is two more.
#include <immintrin.h>

#include "plait/cpu/inside/products/bf16_vectors.h"

namespace plait {
namespace {

constexpr int64_t kRows = 12;
constexpr int64_t kLanes = 16;
// This much of a panel of b, 16 KiB, stays in the nearest cache while panels of a pass through.
constexpr int64_t kBlockPairs = 128;

// Words [pairs][width] of up to `width` lines.
template <int width>
void pack_words(const Source& source, std::byte* packed) {
  const int64_t pairs = quotient_up(source.matrix.columns, 2);
  pack(source, true, [&](int64_t first, const Square& square) {
    for (int64_t p = 0; p < std::min(kSquarePairs, pairs - first / 2); ++p) {
      _mm512_mask_storeu_epi32(packed, static_cast<__mmask16>(first_of_32(width)), square[p]);
      if (width > kLanes) _mm512_storeu_si512(packed + 4 * kLanes, square[kSquarePairs + p]);
      packed += 4 * width;
    }
  });
}
void pack_rows(const Matrix& a, std::byte* packed) { pack_words<kRows>({a}, packed); }
void pack_columns(const Matrix& b, DType dtype, std::byte* packed) {
  pack_words<kBf16Columns>({b.transposed(), dtype == DType::f32}, packed);
}

__m512bh words_at(const std::byte* place) {
  return reinterpret_cast<__m512bh>(_mm512_loadu_si512(place));
}

void multiply_panels(const std::byte* a, const std::byte* b, int64_t pairs, float* sums,
                     bool accumulates) {
  __m512 left[kRows], right[kRows];
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
    const float* const row = sums + i * kBf16Columns;
    left[i] = accumulates ? _mm512_loadu_ps(row) : _mm512_setzero_ps();
    right[i] = accumulates ? _mm512_loadu_ps(row + kLanes) : _mm512_setzero_ps();
  }
  for (int64_t p = 0; p < pairs; ++p, a += 4 * kRows, b += 4 * kBf16Columns) {
    const __m512bh of_left = words_at(b), of_right = words_at(b + 4 * kLanes);
#pragma GCC unroll 12
    for (int i = 0; i < kRows; ++i) {
      int pair;
      std::memcpy(&pair, a + 4 * i, sizeof(pair));
      const auto everywhere = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
      left[i] = _mm512_dpbf16_ps(left[i], everywhere, of_left);
      right[i] = _mm512_dpbf16_ps(right[i], everywhere, of_right);
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < kRows; ++i) {
    _mm512_storeu_ps(sums + i * kBf16Columns, left[i]);
    _mm512_storeu_ps(sums + i * kBf16Columns + kLanes, right[i]);
  }
}

void multiply(const std::byte* a, const std::byte* b, int64_t steps, float* sums,
              const TargetMatrix& out, bool is_non_temporal) {
  const int64_t pairs = quotient_up(steps, 2), panels = quotient_up(out.rows, kRows);
  for (int64_t first = 0; first == 0 || first < pairs; first += kBlockPairs) {
    const int64_t count = std::min(kBlockPairs, pairs - first);
    for (int64_t panel = 0; panel < panels; ++panel) {
      multiply_panels(a + (panel * pairs + first) * 4 * kRows, b + first * 4 * kBf16Columns, count,
                      sums + panel * kRows * kBf16Columns, first > 0);
    }
  }
  round_sums(sums, out, is_non_temporal);
}

}  // namespace

const Bf16Kernels kBf16KernelsOfPairs{.has_tile_units = false,
                                      .rows = kRows,
                                      .steps = 2,
                                      .packed_bytes = 1 << 19,
                                      .pack_rows = pack_rows,
                                      .pack_columns = pack_columns,
                                      .multiply = multiply};

}  // namespace plait
