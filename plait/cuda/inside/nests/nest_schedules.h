// Loop nests as CUDA C++: how points are shared among threads, and in which order results of
// reductions are combined. The order depends on sizes only: neither on the device nor on addresses.
#pragma once

#include <cstdint>
#include <string>

#include "plait/cuda/inside/kernels/launch.h"
#include "plait/cuda/inside/nests/nest_text.h"

namespace plait::cuda {

// Without reductions: each thread computes kFlatVectors (aligned) or kFlatElements vectors.
inline constexpr int kFlatVectors = 2, kFlatElements = 4;
std::string flat_text(const PlannedNest& planned, const TextVariant& variant,
                      const std::string& name);

// Reductions along columns: `lanes` threads (32 or kBlockThreads) compute a row. Values for later
// stages are kept in shared memory, or computed again.
struct RowSchedule {
  int lanes = 32;
  bool keeps = true;

  int rows() const { return kBlockThreads / lanes; }  // that a block computes
  // Shared memory for kept values.
  int64_t shared_bytes(const PlannedNest& planned, int64_t columns) const;
};
std::string rows_text(const PlannedNest& planned, const TextVariant& variant,
                      const std::string& name, const RowSchedule& schedule);

// Results that are accumulated over the rows of groups. The rows of a group are split into parts,
// each computed by a block; within it, kBlockThreads / lanes threads take rows in turn. What each
// part gives is in work memory, and joined in order by another kernel (join_text). Without
// reductions along columns the columns are split too, among `column_blocks` blocks.
std::string columns_text(const PlannedNest& planned, const TextVariant& variant,
                         const std::string& name, int lanes);
std::string both_text(const PlannedNest& planned, const TextVariant& variant,
                      const std::string& name, const RowSchedule& schedule);

// Joins the parts of one result: by a thread for each element, or by a warp.
std::string join_text(const PlannedNest& planned, bool has_wide_index, const std::string& name,
                      size_t result, bool by_warps);

// True if the result has an element for each column.
bool is_by_column(const PlannedNest& planned, size_t result);

}  // namespace plait::cuda
