// Products of bf16 by tile units (AMX). Tiles have 16 rows of 64 bytes; an instruction multiplies
// 16 × 32 numbers of a by 32 × 16 of b into 16 × 16 sums. Operands are packed into such tiles,
// padded with zeros, in panels of 32 rows of a and of 32 columns of b.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/core/numbers/dtype.h"
#include "plait/ops/inside/products/matrix.h"

namespace plait {

constexpr int64_t kTilePanel = 32;  // rows or columns; also the steps of two tiles
constexpr int64_t kTileBytes = 1024;

struct TileKernels {
  // Packs a panel of up to kTilePanel rows of a: for each 32 steps, the tiles of both halves.
  void (*pack_rows)(const Matrix& a, std::byte* packed);
  // Packs a panel of columns of b likewise, with pairs of steps interleaved. f32 is rounded.
  void (*pack_columns)(const Matrix& b, DType dtype, std::byte* packed);
  // Multiplies the rows of several panels of a by one panel of b, into out. `sums` has room for as
  // many f32, kTilePanel per row. Large results are written past the caches (non-temporal), which
  // are better used for the operands.
  void (*multiply)(const std::byte* a, const std::byte* b, int64_t steps, float* sums,
                   const TargetMatrix& out, bool is_non_temporal);
};

// Null if there are no tile units, or if the setting `cpu` excludes them.
const TileKernels* tile_kernels();

extern const TileKernels kTileKernels;

}  // namespace plait
