#include "plait/cuda/inside/reductions/cuda_lattice.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/ops/inside/lattice.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cuda {
namespace {

constexpr int64_t kMostWalks = 1 << 10;  // blocks whose rows are in global memory

constexpr std::string_view kSummed = R"(
INLINE f64 nothing() { return 0; }
INLINE f64 value_of(f64 begun, const f64* from, const f64* held) {
  f64 sum = begun;
  for (int k = 0; k < 3; ++k) sum = sum + from[k] * held[k];
  return sum;
}
)";

// The terms are reduced by the greatest, so that none overflows.
constexpr std::string_view kLogSummed = R"(
INLINE f64 nothing() { return double_of(0xfff0000000000000ull); }
INLINE f64 value_of(f64 begun, const f64* from, const f64* held) {
  f64 terms[4] = {begun, from[0] + held[0], from[1] + held[1], from[2] + held[2]}, greatest = begun, sum = 0;
  #pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (terms[k] > greatest) greatest = terms[k];
  }
  #pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (terms[k] != terms[k]) return terms[k];
    if (terms[k] != nothing()) sum += ::exp(terms[k] - greatest);
  }
  return greatest - greatest != 0 ? greatest : greatest + ::log(sum);
}
)";

// A block a lattice: all its states of one step, then of the next. The values of two steps are in
// shared memory, or in `rows`, behind two that are nothing.
constexpr std::string_view kWalk = R"(
extern "C" __global__ void __launch_bounds__(256)
walk(const T* __restrict__ itself, const T* __restrict__ neighbour, const T* __restrict__ second, const T* __restrict__ begun,
     T* __restrict__ out, f64* rows, i64 lattices, i64 steps, i64 states, int reverse) {
  extern __shared__ f64 shared[];
  const i64 width = states + 2;
  f64 *before = rows ? rows + 2 * width * blockIdx.x : shared, *now = before + width;
  for (i64 lattice = blockIdx.x; lattice < lattices; lattice += gridDim.x) {
    for (i64 i = threadIdx.x; i < width; i += blockDim.x) {
      before[i] = nothing();
      now[i] = nothing();
    }
    __syncthreads();
    for (i64 step = 0; step < steps; ++step) {
      const i64 row = (lattice * steps + (reverse ? steps - 1 - step : step)) * states;
      for (i64 state = threadIdx.x; state < states; state += blockDim.x) {
        const i64 at = row + (reverse ? states - 1 - state : state);
        const f64 from[3] = {(f64)itself[at], (f64)neighbour[at], (f64)second[at]};
        const f64 held[3] = {before[state + 2], before[state + 1], before[state]};
        const f64 value = value_of((f64)begun[at], from, held);
        now[state + 2] = value;
        out[at] = (T)value;
      }
      __syncthreads();
      f64* const other = before;
      before = now;
      now = other;
    }
  }
}
)";

void run_lattice(KernelCall& call, const void* data) {
  const bool is_logarithmic = data != nullptr;
  const bool reverse = call.attributes.as<LatticeAttributes>().reverse;
  move_operands(call);
  std::vector<Array> given;
  for (const Array& operand : call.operands) given.push_back(operand.contiguous());
  const Array& result = call.new_result(0);
  if (result.element_count() == 0) return;
  const Sizes& sizes = result.sizes();
  const int64_t states = sizes.back(), steps = sizes[sizes.size() - 2];
  const int64_t lattices = result.element_count() / (steps * states);
  CudaDevice& device = device_of(call);
  static Immortal<KernelVariants> variants("lattices");
  const DType dtype = result.dtype();
  const KernelFunction& function =
      variants->of(device, "walk", {is_logarithmic, dtype_number(dtype)},
                   [&] { return lattice_text(is_logarithmic, dtype); });
  const int64_t bytes = 2 * (states + 2) * 8;
  const bool is_shared = bytes <= function.most_shared_bytes();
  const int64_t blocks = is_shared ? blocks_for(lattices, 1).x : std::min(lattices, kMostWalks);
  const Array rows =
      Array::empty_on(call.device, DType::u8, {is_shared ? int64_t{0} : blocks * bytes});
  const auto threads = std::clamp<int64_t>(quotient_up(states, 32) * 32, 32, kBlockThreads);
  launch(device, function, {blocks}, static_cast<int>(threads), is_shared ? bytes : 0,
         address_of(given[0]), address_of(given[1]), address_of(given[2]), address_of(given[3]),
         address_of(result), is_shared ? Address{0} : address_of(rows), lattices, steps, states,
         int32_t{reverse});
}

}  // namespace

std::string lattice_text(bool is_logarithmic, DType dtype) {
  return fmt::format("typedef {} T;\n{}{}", name_of(dtype), is_logarithmic ? kLogSummed : kSummed,
                     kWalk);
}

void register_lattice_kernels() {
  static constexpr bool kLogarithmic = true;
  register_kernel(lattice_recurrence_primitive(), {run_lattice}, Device::Kind::cuda);
  register_kernel(lattice_logsumexp_primitive(), {run_lattice, &kLogarithmic}, Device::Kind::cuda);
}

}  // namespace plait::cuda
