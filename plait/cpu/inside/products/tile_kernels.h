// Products of bf16 by a processor's tile units (AMX): tiles of 16 rows of 64 bytes, 16 × 32 numbers
// of a by 32 × 16 of b into 16 × 16 sums. Operands are packed into such tiles, padded with zeros,
// in panels of 32 rows of a and of 32 columns of b.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/core/numbers/dtype.h"
#include "plait/cpu/inside/products/matrix.h"

namespace plait {

constexpr int64_t kTilePanel = 32;  // rows or columns, and steps between two tiles
constexpr int64_t kTileBytes = 1024;

struct TileKernels {
  // A panel of rows of a, of up to kTilePanel: for each 32 steps the tiles of both halves.
  void (*pack_rows)(const Matrix& a, std::byte* packed);
  // A panel of columns of b, likewise; pairs of steps lie side by side. f32 is rounded.
  void (*pack_columns)(const Matrix& b, DType dtype, std::byte* packed);
  // The rows of several panels of a times one panel of b, into out. `sums` has room for as many
  // f32, kTilePanel a row. A large result passes the caches by, which are for the operands.
  void (*multiply)(const std::byte* a, const std::byte* b, int64_t steps, float* sums,
                   const TargetMatrix& out, bool passes_caches);
};

// Null where there are no tile units, or where the setting `cpu` rules them out.
const TileKernels* tile_kernels();

extern const TileKernels kTileKernels;

}  // namespace plait
