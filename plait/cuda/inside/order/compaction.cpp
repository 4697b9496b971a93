#include "plait/cuda/inside/order/compaction.h"

#include <fmt/format.h>

#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/order/block_scan_text.h"

namespace plait::cuda {
namespace {

constexpr std::string_view kCompaction = R"(
#define TILE 4096

extern "C" __global__ void __launch_bounds__(256)
count_taken(const __grid_constant__ Source source, i64 count, u64* __restrict__ counts) {
  __shared__ u32 sums[9];
  u32 taken = 0;
  for (int i = threadIdx.x; i < TILE; i += 256) {
    const i64 item = blockIdx.x * (i64)TILE + i;
    if (item < count && is_taken(source, item)) ++taken;
  }
  exclusive_sum(taken, sums);
  if (threadIdx.x == 0) counts[blockIdx.x] = sums[8];
}

extern "C" __global__ void __launch_bounds__(256)
number_items(const __grid_constant__ Source source, i64 count, const u64* __restrict__ starts,
             const __grid_constant__ Target target) {
  __shared__ u32 sums[9];
  i64 number = (i64)starts[blockIdx.x];
  for (int i = threadIdx.x; i < TILE; i += 256) {
    const i64 item = blockIdx.x * (i64)TILE + i;
    const bool taken = item < count && is_taken(source, item);
    const u32 before = exclusive_sum(taken ? 1u : 0u, sums);
    if (item < count) take(target, source, item, number + before, taken);
    number += sums[8];
  }
}
)";

}  // namespace

std::string compaction_text(std::string_view operation) {
  return fmt::format("typedef u64 Index;\n{}{}{}{}", kBlockScanText, kSumTilesText, operation,
                     kCompaction);
}

int64_t sum_counts(CudaDevice& device, const KernelFunction& sum_tiles, const Array& counts) {
  const Array total = Array::empty_on(counts.device(), DType::u64, {1});
  launch(device, sum_tiles, {1}, 256, 0, address_of(counts), address_of(total), int64_t{1},
         counts.element_count());
  return static_cast<int64_t>(total.on_host().elements<uint64_t>()[0]);
}

}  // namespace plait::cuda
