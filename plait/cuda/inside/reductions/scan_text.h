// The texts of the kernels of cuda_scan.h.
#pragma once

#include <string>

#include "plait/cuda/inside/reductions/cuda_scan.h"

namespace plait::cuda {

// True if runs may be computed apart and joined.
bool joins(ScanKind kind, DType dtype);
// Bytes of the state of a run.
int64_t state_bytes(ScanKind kind, DType dtype);

// Kernels scan_rows, scan_columns and join_pieces, of what joins.
std::string scan_text(ScanKind kind, DType dtype);
// Kernels scan_columns, and scan_in_order for rows.
std::string ordered_scan_text(ScanKind kind, DType dtype);

}  // namespace plait::cuda
