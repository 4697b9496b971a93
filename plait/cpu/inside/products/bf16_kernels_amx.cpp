// Tiles have 16 rows of 64 bytes. Panels have 32 rows or columns.
#include <algorithm>

#include <immintrin.h>

#include "plait/cpu/inside/products/bf16_vectors.inl"

namespace plait {
namespace {

constexpr int64_t kTilePanel = 32;  // rows or columns; also the steps of two tiles
constexpr int64_t kTileRows = 16;
constexpr int64_t kRowBytes = 64;
constexpr int64_t kTileBytes = kTileRows * kRowBytes;
constexpr int64_t kSumsBytes = kTilePanel * 4;  // bytes of a row of sums
// This much of a panel of b, 128 KiB, stays in a near cache while panels of a pass through.
constexpr int64_t kBlockTiles = 64;

int64_t tiles_of(int64_t steps) { return (steps + kTilePanel - 1) / kTilePanel; }

// The tiles of both halves for each 32 steps.
void pack_tiles(const Source& source, bool in_pairs, std::byte* to) {
  pack(source, in_pairs, [&](int64_t, const Square& square) {
    for (int i = 0; i < 32; ++i, to += kRowBytes) _mm512_store_si512(to, square[i]);
  });
}
void pack_rows(const Matrix& a, std::byte* packed) { pack_tiles({a}, false, packed); }
void pack_columns(const Matrix& b, DType dtype, std::byte* packed) {
  pack_tiles({b.transposed(), dtype == DType::f32}, true, packed);
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

const Bf16Kernels kBf16KernelsOfTiles{.has_tile_units = true,
                                      .rows = kTilePanel,
                                      .steps = kTilePanel,
                                      .packed_bytes = 1 << 20,
                                      .pack_rows = pack_rows,
                                      .pack_columns = pack_columns,
                                      .multiply = multiply};

}  // namespace plait
