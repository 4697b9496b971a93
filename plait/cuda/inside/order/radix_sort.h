// Stable sorts of rows of unsigned integers on the device: radix sort with digits of eight bits.
// Blocks count the digits of their tiles, sums give each tile its places, blocks move their items.
#pragma once

#include <string>

#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

struct SortedRows {
  Array keys;   // in ascending order
  Array order;  // the index in its row of each, u32 or u64
};

// `keys` is contiguous, u8 to u64 with sizes [rows, length], and is overwritten. Only its lowest
// `bits` bits count.
SortedRows radix_sort(CudaDevice& device, Array keys, int bits);

// Kernels count_digits, sum_tiles, move_items; key_bytes: 1, 2, 4, 8; index_bytes: 4, 8.
std::string radix_sort_text(int64_t key_bytes, int64_t index_bytes);

}  // namespace plait::cuda
