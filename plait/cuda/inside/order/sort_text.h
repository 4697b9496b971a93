// The texts of the kernels of cuda_sort.cpp.
#pragma once

#include <string>

#include "plait/core/numbers/dtype.h"

namespace plait::cuda {

inline constexpr int64_t kLongestInBlock = 2048;  // rows that a block sorts in shared memory

// Kernel sort_rows, for rows of at most kLongestInBlock elements.
std::string block_sort_text(DType dtype);
// Kernels make_keys and take_sorted, before and after radix_sort.
std::string sorted_values_text(DType dtype, int64_t index_bytes);
// Kernel search_sorted.
std::string search_text(DType dtype);

}  // namespace plait::cuda
