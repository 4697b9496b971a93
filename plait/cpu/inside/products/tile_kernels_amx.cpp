#include <algorithm>
#include <cstring>

#include <immintrin.h>

#include "plait/cpu/inside/products/tile_kernels.h"

namespace plait {
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kPairs = 16;  // pairs of steps in a tile
constexpr int64_t kRowBytes = 64;
constexpr int64_t kSumsBytes = kTilePanel * 4;  // bytes of a row of sums
// This much of a panel of b, 128 KiB, stays in a near cache while panels of a pass through.
constexpr int64_t kBlockTiles = 64;

int64_t tiles_of(int64_t steps) { return (steps + kTilePanel - 1) / kTilePanel; }

__mmask32 first_of_32(int64_t count) {
  return count >= 32 ? ~__mmask32{0} : static_cast<__mmask32>((uint32_t{1} << count) - 1);
}

// Transposes 16 rows of 16 pairs.
void transpose(__m512i* rows) {
  __m512i t[16], u[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int half = 0; half < 2; ++half) {
      u[i + 2 * half] = _mm512_unpacklo_epi64(t[i + half], t[i + 2 + half]);
      u[i + 2 * half + 1] = _mm512_unpackhi_epi64(t[i + half], t[i + 2 + half]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(u[i], u[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_i32x4(u[i], u[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_i32x4(u[i + 8], u[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_i32x4(u[i + 8], u[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    rows[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    rows[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
  }
}

// The source of packing: the rows of a, or the columns of b.
struct Source {
  Matrix matrix;
  bool is_float = false;  // f32, to be rounded

  const std::byte* at(int64_t row, int64_t column) const {
    const int64_t place = row * matrix.row_stride + column * matrix.column_stride;
    return matrix.data + place * (is_float ? 4 : 2);
  }
  // Loads consecutive elements; 0 where the mask is false.
  __m512i load(const std::byte* from, __mmask32 there) const {
    if (!is_float) return _mm512_maskz_loadu_epi16(there, from);
    const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(there), from);
    const __m512 high = _mm512_maskz_loadu_ps(static_cast<__mmask16>(there >> 16), from + 64);
    const __m512bh rounded = _mm512_cvtne2ps_pbh(high, low);
    return reinterpret_cast<const __m512i&>(rounded);
  }
};

// Packs element by element, for any strides.
void pack_singly(const Source& source, int64_t tile, bool in_pairs, std::byte* to) {
  const Matrix& m = source.matrix;
  std::memset(to, 0, 2 * kTileBytes);
  const int64_t first = tile * kTilePanel, steps = std::min(kTilePanel, m.columns - first);
  for (int64_t row = 0; row < m.rows; ++row) {
    for (int64_t k = 0; k < steps; ++k) {
      const int64_t within = row % kTileRows;
      const int64_t place =
          in_pairs ? k / 2 * kRowBytes + within * 4 + k % 2 * 2 : within * kRowBytes + k * 2;
      const __m512i element = source.load(source.at(row, first + k), 1);
      std::memcpy(to + row / kTileRows * kTileBytes + place, &element, 2);
    }
  }
}

// Loads two tiles whose rows are rows of the matrix.
void load_rows(const Source& source, int64_t tile, __m512i (&rows)[32]) {
  const Matrix& m = source.matrix;
  const int64_t first = tile * kTilePanel;
  const __mmask32 there = first_of_32(m.columns - first);
  for (int64_t i = 0; i < kTilePanel; ++i) {
    rows[i] = i < m.rows ? source.load(source.at(i, first), there) : _mm512_setzero_si512();
  }
}

// Loads two tiles of interleaved pairs of steps, for a matrix whose steps are not contiguous:
// interleaves steps 2p and 2p + 1 of 32 rows.
void load_pairs(const Source& source, int64_t tile, __m512i (&rows)[32]) {
  const Matrix& m = source.matrix;
  const int64_t first = tile * kTilePanel;
  const __mmask32 there = first_of_32(m.rows);
  const auto step = [&](int64_t k) {
    return k < m.columns ? source.load(source.at(0, k), there) : _mm512_setzero_si512();
  };
  const __m512i low = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0);
  const __m512i high = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  for (int64_t p = 0; p < kPairs; ++p) {
    const __m512i a = step(first + 2 * p), b = step(first + 2 * p + 1);
    const __m512i even = _mm512_unpacklo_epi16(a, b), odd = _mm512_unpackhi_epi16(a, b);
    rows[p] = _mm512_permutex2var_epi64(even, low, odd);
    rows[16 + p] = _mm512_permutex2var_epi64(even, high, odd);
  }
}

void pack(const Source& source, bool in_pairs, std::byte* to) {
  const Matrix& m = source.matrix;
  for (int64_t tile = 0; tile < tiles_of(m.columns); ++tile, to += 2 * kTileBytes) {
    __m512i rows[32];
    bool is_in_pairs = false;
    if (m.column_stride == 1) {
      load_rows(source, tile, rows);
    } else if (m.row_stride == 1) {
      load_pairs(source, tile, rows);
      is_in_pairs = true;
    } else {
      pack_singly(source, tile, in_pairs, to);
      continue;
    }
    if (is_in_pairs != in_pairs) {
      transpose(rows);
      transpose(rows + 16);
    }
    for (int i = 0; i < 32; ++i) _mm512_store_si512(to + i * kRowBytes, rows[i]);
  }
}

void pack_rows(const Matrix& a, std::byte* packed) { pack({a}, false, packed); }
void pack_columns(const Matrix& b, DType dtype, std::byte* packed) {
  pack({b.transposed(), dtype == DType::f32}, true, packed);
}

struct alignas(64) TileConfiguration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Sums of 32 × 32: both halves of a panel of a times both halves of a panel of b.
void multiply_panels(const std::byte* a, const std::byte* b, int64_t tiles, float* sums,
                     bool accumulates) {
  float* const lower = sums + kTileRows * kTilePanel;
  if (accumulates) {
    _tile_loadd(0, sums, kSumsBytes);
    _tile_loadd(1, sums + kTileRows, kSumsBytes);
    _tile_loadd(2, lower, kSumsBytes);
    _tile_loadd(3, lower + kTileRows, kSumsBytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (int64_t t = 0; t < tiles; ++t, a += 2 * kTileBytes, b += 2 * kTileBytes) {
    _tile_loadd(4, a, kRowBytes);
    _tile_loadd(6, b, kRowBytes);
    _tile_loadd(7, b + kTileBytes, kRowBytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, a + kTileBytes, kRowBytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, kSumsBytes);
  _tile_stored(1, sums + kTileRows, kSumsBytes);
  _tile_stored(2, lower, kSumsBytes);
  _tile_stored(3, lower + kTileRows, kSumsBytes);
}

bool is_line(const std::byte* place) { return reinterpret_cast<uintptr_t>(place) % 64 == 0; }

void round_sums(const float* sums, const TargetMatrix& out, bool is_non_temporal) {
  const __mmask32 there = first_of_32(out.columns);
  for (int64_t i = 0; i < out.rows; ++i, sums += kTilePanel) {
    const __m512bh row = _mm512_cvtne2ps_pbh(_mm512_load_ps(sums + 16), _mm512_load_ps(sums));
    const auto& words = reinterpret_cast<const __m512i&>(row);
    std::byte* const to = out.data + i * out.row_stride * 2;
    if (is_non_temporal && there == ~__mmask32{0} && is_line(to)) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to), words);
    } else {
      _mm512_mask_storeu_epi16(to, there, words);
    }
  }
  if (is_non_temporal) _mm_sfence();
}

void multiply(const std::byte* a, const std::byte* b, int64_t steps, float* sums,
              const TargetMatrix& out, bool is_non_temporal) {
  TileConfiguration configuration;
  std::fill_n(configuration.row_bytes, 8, kRowBytes);
  std::fill_n(configuration.rows, 8, kTileRows);
  _tile_loadconfig(&configuration);
  const int64_t tiles = tiles_of(steps), panels = tiles_of(out.rows);
  for (int64_t first = 0; first == 0 || first < tiles; first += kBlockTiles) {
    const int64_t count = std::min(kBlockTiles, tiles - first);
    for (int64_t panel = 0; panel < panels; ++panel) {
      multiply_panels(a + (panel * tiles + first) * 2 * kTileBytes, b + first * 2 * kTileBytes,
                      count, sums + panel * kTilePanel * kTilePanel, first > 0);
    }
  }
  _tile_release();
  round_sums(sums, out, is_non_temporal);
}

}  // namespace

const TileKernels kTileKernels{pack_rows, pack_columns, multiply};

}  // namespace plait
