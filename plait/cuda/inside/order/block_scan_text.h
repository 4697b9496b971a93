// Sums over the threads of a block, in CUDA C++.
#pragma once

#include <string_view>

namespace plait::cuda {

// exclusive_sum(value, sums): for a block of 256 threads, the sum of the values of the threads
// before; `sums` is shared memory for 9 numbers, of which sums[8] becomes the sum of all.
extern const std::string_view kBlockScanText;
// Kernel sum_tiles, for lines of counts of the type Index: exclusive sums, in place, and the sum of
// each line.
extern const std::string_view kSumTilesText;

}  // namespace plait::cuda
