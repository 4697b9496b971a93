// Kernels for products of bf16 whose operands are both packed: a into panels of rows, b into panels
// of columns, whose steps are padded with zeros. One set is for tile units (AMX): an instruction
// multiplies 16 × 32 numbers of a by 32 × 16 of b. The other is for vectors of pairs (AVX-512
// BF16): an instruction adds two products in each of 16 lanes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/numbers/dtype.h"
#include "plait/ops/inside/products/matrix.h"

namespace plait {

// Columns of a panel of b, and of sums.
inline constexpr int64_t kBf16Columns = 32;

struct Bf16Kernels {
  bool has_tile_units;
  int64_t rows;          // in a panel of a
  int64_t steps;         // padded to a multiple of this
  int64_t packed_bytes;  // stays in a cache while panels of b pass through: packed rows of a

  // Packs a panel of up to `rows` rows of a.
  void (*pack_rows)(const Matrix& a, std::byte* packed);
  // Packs a panel of up to kBf16Columns columns of b. f32 is rounded.
  void (*pack_columns)(const Matrix& b, DType dtype, std::byte* packed);
  // Multiplies the rows of several panels of a by one panel of b, into out. `sums` has room for as
  // many f32, kBf16Columns per row. Large results are written past the caches (non-temporal), which
  // are better used for the operands.
  void (*multiply)(const std::byte* a, const std::byte* b, int64_t steps, float* sums,
                   const TargetMatrix& out, bool is_non_temporal);

  // The bytes of a packed panel of so many rows or columns.
  int64_t bytes_of(int64_t lines, int64_t step_count) const {
    return lines * quotient_up(step_count, steps) * steps * size_of(DType::bf16);
  }
};

// Those that are fastest on this processor; null if it has neither tile units nor vectors of pairs,
// or if the setting `cpu` excludes them.
const Bf16Kernels* bf16_kernels();

extern const Bf16Kernels kBf16KernelsOfTiles, kBf16KernelsOfPairs;

}  // namespace plait
