#include "plait/cuda/inside/reductions/cuda_arg_extreme.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/order/key_text.h"
#include "plait/cuda/inside/reductions/rows_along.h"
#include "plait/ops/inside/primitive_attributes.h"

namespace plait::cuda {
namespace {

// TEAM threads (1, 32 or all 256 of a block) find the best element of a piece of a row.
constexpr std::string_view kArgExtreme = R"(
struct Best { Key key; i64 place; };

INLINE Best better(Best a, Best b) {
  const bool is_b = b.key > a.key || (b.key == a.key && b.place < a.place);
  Best best;
  best.key = is_b ? b.key : a.key;
  best.place = is_b ? b.place : a.place;
  return best;
}
// NaN comes before all numbers, for the least too.
INLINE Key rank_of(Key bits) {
  const Key key = key_of(bits);
  return GREATEST || (kIsFloat && key == kNaN) ? key : (Key)~key;
}
INLINE Best best_of_warp(Best best) {
  for (int m = 16; m > 0; m >>= 1) {
    Best other;
    other.key = (Key)__shfl_xor_sync(0xffffffffu, (Wide)best.key, m);
    other.place = __shfl_xor_sync(0xffffffffu, best.place, m);
    best = better(best, other);
  }
  return best;
}
// All threads of the block get the same.
INLINE Best best_of_block(Best best, Key* keys, i64* places) {
  best = best_of_warp(best);
  if (threadIdx.x % 32 == 0) {
    keys[threadIdx.x / 32] = best.key;
    places[threadIdx.x / 32] = best.place;
  }
  __syncthreads();
  for (int i = 0; i < 8; ++i) {
    Best other;
    other.key = keys[i];
    other.place = places[i];
    best = better(best, other);
  }
  __syncthreads();
  return best;
}

// `keys`: where the key of each piece goes; null if there is one piece a row.
extern "C" __global__ void __launch_bounds__(256)
arg_extreme(const Key* __restrict__ x, i64* __restrict__ places, Key* __restrict__ keys, i64 rows, i64 length,
            i64 inner, i64 pieces, i64 each) {
  __shared__ Key block_keys[8];
  __shared__ i64 block_places[8];
  const int thread = threadIdx.x % TEAM;
  const i64 teams = 256 / TEAM;
  for (i64 unit = blockIdx.x * teams + threadIdx.x / TEAM; unit < rows * pieces; unit += gridDim.x * teams) {
    const i64 piece = unit / rows, row = unit - piece * rows;
    const i64 begin = piece * each, end = begin + each < length ? begin + each : length;
    const Key* const first = x + (inner == 1 ? row * length : row / inner * length * inner + row % inner);
    Best best;
    best.place = begin + thread < end ? begin + thread : begin;
    best.key = rank_of(first[best.place * inner]);
    for (i64 i = best.place + TEAM; i < end; i += TEAM) {
      const Key key = rank_of(first[i * inner]);
      if (key > best.key) {
        best.key = key;
        best.place = i;
      }
    }
    if (TEAM == 32) best = best_of_warp(best);
    if (TEAM == 256) best = best_of_block(best, block_keys, block_places);
    if (thread != 0) continue;
    places[row * pieces + piece] = best.place;
    if (keys) keys[row * pieces + piece] = best.key;
  }
}

extern "C" __global__ void __launch_bounds__(256)
join_extremes(const i64* __restrict__ places, const Key* __restrict__ keys, i64* __restrict__ result, i64 rows, i64 pieces) {
  for (i64 row = blockIdx.x * 256ll + threadIdx.x; row < rows; row += gridDim.x * 256ll) {
    Best best;
    best.key = keys[row * pieces];
    best.place = places[row * pieces];
    for (i64 i = row * pieces + 1; i < (row + 1) * pieces; ++i) {
      Best other;
      other.key = keys[i];
      other.place = places[i];
      best = better(best, other);
    }
    result[row] = best.place;
  }
}
)";

int team_of(const RowsAlong& along) {
  if (along.inner >= 32 || along.length <= 4) return 1;
  return along.length <= 1024 ? 32 : kBlockThreads;
}

void run_arg_extreme(KernelCall& call, bool greatest) {
  const int64_t axis = call.attributes.as<ArgExtremeAttributes>().axis;
  const Array& given = call.operands[0];
  if (given.sizes()[static_cast<size_t>(axis)] == 0) {
    throw ValueError("{}: {}{} is empty along axis {}", greatest ? "argmax" : "argmin",
                     name_of(given.dtype()), text_of_sizes(given.sizes()), axis);
  }
  move_operands(call);
  const Array x = call.operands[0].contiguous();
  Array& result = call.new_result(0);
  if (x.element_count() == 0) return;
  CudaDevice& device = device_of(call);
  const RowsAlong along(x.sizes(), axis);
  const int team = team_of(along);
  const auto function = [&](std::string_view name, int64_t number) -> const KernelFunction& {
    static Immortal<KernelVariants> variants("arg_extremes");
    const int64_t team_number = team == 1 ? 0 : team == 32 ? 1 : 2;
    return variants->of(device, name, {number, team_number, greatest, dtype_number(x.dtype())},
                        [&] { return arg_extreme_text(x.dtype(), greatest, team); });
  };
  const int64_t wanted = team == kBlockThreads ? 1 << 10 : 1 << 16;
  const Pieces pieces(along, wanted, team == kBlockThreads ? 4096 : int64_t{64} * team);
  const int64_t units = along.rows * pieces.count;
  const auto find = [&](const Array& places, Address keys) {
    launch(device, function("arg_extreme", 0), blocks_for(units, kBlockThreads / team),
           kBlockThreads, 0, address_of(x), address_of(places), keys, along.rows, along.length,
           along.inner, pieces.count, pieces.each);
  };
  if (pieces.count == 1) return find(result, 0);
  const Array places = Array::empty_on(call.device, DType::i64, {units});
  const Array keys = Array::empty_on(call.device, x.dtype(), {units});
  find(places, address_of(keys));
  launch(device, function("join_extremes", 1), blocks_for(along.rows), kBlockThreads, 0,
         address_of(places), address_of(keys), address_of(result), along.rows, pieces.count);
}

}  // namespace

std::string arg_extreme_text(DType dtype, bool greatest, int team) {
  return fmt::format("{}typedef {} Wide;\n#define GREATEST {}\n#define TEAM {}\n{}",
                     key_text(dtype), size_of(dtype) == 8 ? "u64" : "u32", greatest, team,
                     kArgExtreme);
}

void run_argmax(KernelCall& call, const void*) { run_arg_extreme(call, true); }
void run_argmin(KernelCall& call, const void*) { run_arg_extreme(call, false); }

}  // namespace plait::cuda
