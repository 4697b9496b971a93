#include "plait/cuda/inside/random/cuda_random.h"

#include <cmath>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/random/cuda_draws.h"
#include "plait/cuda/inside/random/device_draw.h"
#include "plait/cuda/inside/random/random_text.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {
namespace {

constexpr int64_t kBlockBytes = 16;

void run_bits(KernelCall& call, const void*) {
  const int64_t size = size_of(call.types[0].dtype);
  const Draw draw(call);
  if (draw.is_empty()) return;
  const int64_t bytes = draw.each() * size, blocks = quotient_up(bytes, kBlockBytes);
  static Immortal<KernelVariants> variants("random_bits");
  draw.launch_for(
      variants->of(draw.device(), "random_bits", {size}, [&] { return random_bits_text(size); }),
      blocks, bytes, blocks);
}

void run_values(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<RandomValuesAttributes>();
  const Draw draw(call);
  if (draw.is_empty()) return;
  const int64_t count = kBlockBytes / random_bytes(a.distribution, a.dtype);
  const int64_t blocks = quotient_up(draw.each(), count);
  static Immortal<KernelVariants> variants("random_values");
  draw.launch_for(variants->of(draw.device(), "random_values",
                               {static_cast<int64_t>(a.distribution), dtype_number(a.dtype)},
                               [&] { return random_values_text(a.distribution, a.dtype); }),
                  blocks, draw.each(), blocks);
}

void run_integers(KernelCall& call, const void*) {
  const auto count = static_cast<uint64_t>(integers_to_choose_from(call));
  const Draw draw(call);
  if (draw.is_empty()) return;
  const int64_t blocks = quotient_up(draw.each(), int64_t{2});
  const int64_t total = blocks * (call.results[0].element_count() / draw.each());
  static Immortal<KernelVariants> variants("random_integers");
  launch(draw.device(),
         variants->of(draw.device(), "random_integers", {}, [] { return random_integers_text(); }),
         blocks_for(total), kBlockThreads, 0, draw.keys(), draw.result(), draw.each(), blocks,
         total, count);
}

// As the kernel has it.
struct TruncatedRange {
  double low, high, rate;
  int32_t proposal, is_mirrored;
};

// The same choices as on the CPU (ops/inside/random/random_rejection.cpp).
TruncatedRange truncated_range(double low, double high) {
  enum Proposal : int32_t { normal, uniform, exponential };
  constexpr double kRootOfTwoPi = 2.5066282746310002;
  const bool is_mirrored = high <= 0;
  TruncatedRange range{is_mirrored ? -high : low, is_mirrored ? -low : high, 0, normal,
                       is_mirrored ? 1 : 0};
  range.rate = (range.low + std::hypot(range.low, 2.0)) / 2;
  const double width = range.high - range.low;
  if (range.low < 0) {
    range.proposal = width > kRootOfTwoPi ? normal : uniform;
  } else {
    range.proposal = width * range.rate > 1 ? exponential : uniform;
  }
  return range;
}

void run_truncated(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<TruncatedNormalAttributes>();
  const Draw draw(call);
  if (draw.is_empty()) return;
  const int64_t total = call.results[0].element_count();
  static Immortal<KernelVariants> variants("truncated_normal");
  launch(draw.device(),
         variants->of(draw.device(), "truncated_normal", {dtype_number(a.dtype)},
                      [&] { return truncated_normal_text(a.dtype); }),
         blocks_for(total), kBlockThreads, 0, draw.keys(), draw.result(), draw.each(), total,
         truncated_range(a.low, a.high));
}

}  // namespace

void register_random_kernels() {
  constexpr auto cuda = Device::Kind::cuda;
  const RandomPrimitives& primitives = random_primitives();
  register_kernel(primitives.bits, {run_bits}, cuda);
  register_kernel(primitives.values, {run_values}, cuda);
  register_kernel(primitives.integers, {run_integers}, cuda);
  register_kernel(primitives.truncated_normal, {run_truncated}, cuda);
  register_draw_kernels();
}

}  // namespace plait::cuda
