#include "plait/cuda/inside/order/block_scan_text.h"

namespace plait::cuda {

const std::string_view kBlockScanText = R"(
template <class T> INLINE T exclusive_sum(T value, T* sums) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  T sum = value;
  #pragma unroll
  for (int n = 1; n < 32; n *= 2) {
    const T other = __shfl_up_sync(0xffffffffu, sum, n);
    if (lane >= n) sum += other;
  }
  __syncthreads();
  if (lane == 31) sums[warp] = sum;
  __syncthreads();
  T before = 0, all = 0;
  for (int w = 0; w < 8; ++w) {
    if (w == warp) before = all;
    all += sums[w];
  }
  if (threadIdx.x == 0) sums[8] = all;
  __syncthreads();
  return before + sum - value;
}
)";

const std::string_view kSumTilesText = R"(
// A block a line: the counts of its tiles become those of the tiles before.
extern "C" __global__ void __launch_bounds__(256)
sum_tiles(Index* __restrict__ counts, Index* __restrict__ totals, i64 lines, i64 tiles) {
  __shared__ Index sums[9];
  for (i64 line = blockIdx.x; line < lines; line += gridDim.x) {
    Index before = 0;
    for (i64 first = 0; first < tiles; first += 256) {
      const i64 tile = first + threadIdx.x;
      const Index count = tile < tiles ? counts[line * tiles + tile] : 0;
      const Index place = before + exclusive_sum(count, sums);
      if (tile < tiles) counts[line * tiles + tile] = place;
      before += sums[8];
    }
    if (threadIdx.x == 0) totals[line] = before;
    __syncthreads();
  }
}
)";

}  // namespace plait::cuda
