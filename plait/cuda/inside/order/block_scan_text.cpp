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

}  // namespace plait::cuda
