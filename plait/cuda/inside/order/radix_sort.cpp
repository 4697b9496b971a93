#include "plait/cuda/inside/order/radix_sort.h"

#include <utility>

#include <fmt/format.h>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/order/block_scan_text.h"
#include "plait/cuda/inside/order/key_text.h"

namespace plait::cuda {
namespace {

constexpr int64_t kSortTile = 4096;  // as in the text
constexpr int64_t kDigits = 256;
constexpr int kDigitBits = 8;

// Block b works on tile b % tiles of row b / tiles. counts[row][digit][tile].
constexpr std::string_view kRadixSort = R"(
#define TILE 4096
#define ITEMS 16

extern "C" __global__ void __launch_bounds__(256)
count_digits(const Key* __restrict__ keys, Index* __restrict__ counts, i64 length, i64 tiles, int shift) {
  __shared__ u32 digits[256];
  const i64 row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles, begin = tile * TILE;
  const int count = (int)(length - begin < TILE ? length - begin : TILE);
  digits[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += 256) {
    atomicAdd(&digits[(u32)(keys[row * length + begin + i] >> shift) & 255u], 1u);
  }
  __syncthreads();
  counts[(row * 256 + threadIdx.x) * tiles + tile] = digits[threadIdx.x];
}

// A warp loads its items and ranks them among those of the same digit, 32 at a time: equal digits
// find each other by votes. `ranked` counts the digits of the warp.
INLINE void rank_items(const Key* __restrict__ keys, i64 left, int shift, Key* own, u32* ranks, u32* ranked) {
  const int lane = threadIdx.x % 32;
  #pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const bool is_item = i * 32 < left;
    own[i] = is_item ? keys[i * 32] : (Key)0;
    const u32 digit = (u32)(own[i] >> shift) & 255u;
    u32 alike = __ballot_sync(0xffffffffu, is_item);
    #pragma unroll
    for (int b = 0; b < 8; ++b) {
      const bool bit = (digit >> b & 1u) != 0;
      const u32 set = __ballot_sync(0xffffffffu, bit);
      alike &= bit ? set : ~set;
    }
    const u32 before = __popc(alike & ((1u << lane) - 1u)), count = ranked[digit];
    ranks[i] = count + before;
    __syncwarp();
    if (is_item && before == 0) ranked[digit] = count + __popc(alike);
    __syncwarp();
  }
}

// `order` null: the items are in their first order.
extern "C" __global__ void __launch_bounds__(256)
move_items(const Key* __restrict__ keys, const Index* __restrict__ order, Key* __restrict__ moved,
           Index* __restrict__ moved_order, const Index* __restrict__ counts, const Index* __restrict__ totals,
           i64 length, i64 tiles, int shift) {
  __shared__ u32 ranked[8][256];
  __shared__ Index places[8][256];
  __shared__ Index sums[9];
  const i64 row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const i64 first = tile * TILE + warp * (TILE / 8) + lane;
  for (int w = 0; w < 8; ++w) ranked[w][threadIdx.x] = 0;
  __syncthreads();
  Key own[ITEMS];
  u32 ranks[ITEMS];
  rank_items(keys + row * length + first, length - first, shift, own, ranks, ranked[warp]);
  const i64 line = row * 256 + threadIdx.x;
  Index place = exclusive_sum(totals[line], sums) + counts[line * tiles + tile];
  for (int w = 0; w < 8; ++w) {
    places[w][threadIdx.x] = place;
    place += ranked[w][threadIdx.x];
  }
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < ITEMS; ++i) {
    const i64 k = first + i * 32;
    if (k >= length) continue;
    const i64 to = row * length + places[warp][(u32)(own[i] >> shift) & 255u] + ranks[i];
    moved[to] = own[i];
    moved_order[to] = order ? order[row * length + k] : (Index)k;
  }
}
)";

}  // namespace

std::string radix_sort_text(int64_t key_bytes, int64_t index_bytes) {
  return fmt::format("typedef {} Key;\ntypedef {} Index;\n{}{}{}", unsigned_name(key_bytes),
                     unsigned_name(index_bytes), kBlockScanText, kSumTilesText, kRadixSort);
}

SortedRows radix_sort(CudaDevice& device, Array keys, int bits) {
  const Device place = keys.device();
  const int64_t rows = keys.sizes()[0], length = keys.sizes()[1];
  const int64_t tiles = quotient_up(length, kSortTile), lines = rows * kDigits;
  const DType index = length < int64_t{1} << 32 ? DType::u32 : DType::u64;
  const auto function = [&](std::string_view name, int64_t number) -> const KernelFunction& {
    static Immortal<KernelVariants> variants("radix_sort");
    return variants->of(device, name, {number, keys.element_size(), size_of(index)},
                        [&] { return radix_sort_text(keys.element_size(), size_of(index)); });
  };
  const KernelFunction& count_digits = function("count_digits", 0);
  const KernelFunction& sum_tiles = function("sum_tiles", 1);
  const KernelFunction& move_items = function("move_items", 2);
  const Array counts = Array::empty_on(place, index, {lines, tiles});
  const Array totals = Array::empty_on(place, index, {lines});
  Array moved = Array::empty_on(place, keys.dtype(), keys.sizes());
  Array order, moved_order = Array::empty_on(place, index, keys.sizes());
  const auto pass = [&](int32_t shift) {
    launch(device, count_digits, {rows * tiles}, kBlockThreads, 0, address_of(keys),
           address_of(counts), length, tiles, shift);
    launch(device, sum_tiles, blocks_for(lines, 1), kBlockThreads, 0, address_of(counts),
           address_of(totals), lines, tiles);
    launch(device, move_items, {rows * tiles}, kBlockThreads, 0, address_of(keys),
           order ? address_of(order) : Address{0}, address_of(moved), address_of(moved_order),
           address_of(counts), address_of(totals), length, tiles, shift);
  };
  for (int32_t shift = 0; shift == 0 || shift < bits; shift += kDigitBits) {
    pass(shift);
    std::swap(keys, moved);
    if (!order) order = Array::empty_on(place, index, keys.sizes());
    std::swap(order, moved_order);
  }
  return {std::move(keys), std::move(order)};
}

}  // namespace plait::cuda
