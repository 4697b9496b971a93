// A 32-bit word has a pair of steps. Panels are words [pairs][kPairedRows] of rows of a and
// [pairs][kPairedColumns] of columns of b, which the kernels of attention's blocks multiply.
#include <immintrin.h>

#include "plait/cpu/inside/products/bf16_vectors.inl"
#include "plait/cpu/inside/repeated_products/paired_kernels.h"

namespace plait {
namespace {

constexpr int64_t kRows = kPairedRows;
static_assert(kBf16Columns == kPairedColumns);
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

const uint32_t* words_at(const std::byte* place) {
  return reinterpret_cast<const uint32_t*>(place);
}

void multiply(const std::byte* a, const std::byte* b, int64_t steps, float* sums,
              const TargetMatrix& out, bool is_non_temporal) {
  const int64_t pairs = quotient_up(steps, 2), panels = quotient_up(out.rows, kRows);
  for (int64_t first = 0; first == 0 || first < pairs; first += kBlockPairs) {
    const int64_t count = std::min(kBlockPairs, pairs - first);
    for (int64_t panel = 0; panel < panels; ++panel) {
      kPairedKernels.multiply(words_at(a) + (panel * pairs + first) * kRows, kRows, 1, kRows,
                              words_at(b) + first * kBf16Columns, count,
                              sums + panel * kRows * kBf16Columns, kBf16Columns, first > 0);
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
