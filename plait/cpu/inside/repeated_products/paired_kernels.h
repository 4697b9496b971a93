// Products of bf16 by instructions that multiply pairs: a sum in f32 of two products in each lane.
// The steps of both operands are in pairs, one 32-bit word for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/ops/inside/products/matrix.h"

namespace plait {

inline constexpr int64_t kPairedRows = 12;     // most rows of a for one call
inline constexpr int64_t kPairedColumns = 32;  // columns of a panel of b

struct PairedKernels {
  // Words [pairs][kPairedColumns] of a panel of up to so many columns, padded with zeros.
  void (*pack_columns)(const Matrix& b, uint32_t* words);
  // Words [pairs][a.rows] of up to kPairedRows rows, padded with zeros.
  void (*pack_rows)(const Matrix& a, uint32_t* words);
  // Sums of kPairedColumns columns for each row, which are added to c, or written.
  void (*multiply)(const uint32_t* a, int64_t rows, int64_t a_row, int64_t a_pair,
                   const uint32_t* b, int64_t pairs, float* c, int64_t c_row, bool accumulates);
  // Rounds up to kPairedColumns columns of sums.
  void (*round)(const float* sums, int64_t sums_row, const TargetMatrix& out);
};

// Null if the processor has no such instructions, or if the setting `cpu` excludes them.
const PairedKernels* paired_kernels();

extern const PairedKernels kPairedKernels;

}  // namespace plait
