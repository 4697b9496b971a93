// The texts of the kernels of cuda_scatter.h.
#pragma once

#include <string>

#include "plait/cuda/inside/indexing/points_text.h"
#include "plait/ops/indexing/scatter.h"

namespace plait::cuda {

inline constexpr int64_t kPointsOfTile = 64;

// True if updates of an element may be combined with each other before it.
bool may_combine_first(Combine combine, DType dtype);
// Bytes of what updates are combined in.
int64_t combined_bytes(Combine combine, DType dtype);

// Kernel locate: the number of each point's row, and its place in x. Key: u32 or u64.
std::string locate_text(const Points& points, bool narrow, int64_t key_bytes);
// Kernel update_rows: of points that name different rows.
std::string update_rows_text(const Points& points, const Row& row, bool narrow, Combine combine,
                             DType dtype);
// For sorted points: set_last if `combine` is set; update_runs and join_runs if updates may be
// combined first; else update_in_order. Index: the type of the order.
std::string sorted_updates_text(const Row& row, bool narrow, int64_t key_bytes, int64_t index_bytes,
                                Combine combine, DType dtype);

}  // namespace plait::cuda
