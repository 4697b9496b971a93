#include "plait/cpu/inside/convolutions/winograd_weights.h"

#include <algorithm>
#include <atomic>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

constexpr int64_t kLanes = kWinogradChannels, kPanel = kWinogradPanel, kTaps = 9;
constexpr int64_t kGrain = 4;  // pieces of 16 × 16 kernels that are worth a thread

// Lanes are outputs. For a transposed convolution the taps are in reverse order.
void read_weights(const Images& x, const Images& y, const std::byte* weights, bool is_transposed,
                  int64_t block, int64_t first, int64_t count, float* places) {
  const ChannelKernels& kernels = channel_kernels(x.dtype);
  const int64_t size = size_of(x.dtype), channels = y.channels_of(block);
  if (!is_transposed) {
    const int64_t step = x.channels * kTaps;
    kernels.gather(weights + (block * kLanes * step + first * kTaps) * size, step, channels,
                   count * kTaps, places);
    return;
  }
  for (int64_t input = 0; input < count; ++input) {
    const int64_t kernel = ((first + input) * y.channels + block * kLanes) * kTaps;
    for (int64_t tap = 0; tap < kTaps; ++tap) {
      kernels.gather(weights + (kernel + tap) * size, kTaps, channels, 1,
                     places + (input * kTaps + kTaps - 1 - tap) * kLanes);
    }
  }
}

}  // namespace

void transform_weights(const WinogradKernels& transforms, const Images& x, const Images& y,
                       const std::byte* weights, bool is_transposed, float* to) {
  const int64_t inputs = x.channels, panels = quotient_up(y.channels, kPanel), groups = x.blocks();
  parallel_for(panels * (kPanel / kLanes) * groups, kGrain, [&](int64_t begin, int64_t end) {
    const Buffer room = numbers(kLanes * kTaps * kLanes);
    float* places = data_of(room);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t block = i / groups, first = i % groups * kLanes,
                    count = x.channels_of(i % groups);
      if (block < y.blocks()) {
        read_weights(x, y, weights, is_transposed, block, first, count, places);
      } else {
        std::fill_n(places, kLanes * kTaps * kLanes, 0.0F);
      }
      const int64_t column = block * kLanes;
      for (int64_t input = 0; input < count; ++input) {
        float* matrix = to + (column / kPanel * inputs + first + input) * kPanel + column % kPanel;
        transforms.transform_kernel(places + input * kTaps * kLanes,
                                    {matrix, panels * inputs * kPanel, 0});
      }
    }
  });
}

bool transform_weight_gradient(const WinogradKernels& transforms, const Images& x, const Images& y,
                               float* from, int64_t columns, std::byte* weights) {
  std::atomic<bool> is_finite = true;
  const int64_t inputs = x.channels, groups = x.blocks(), step = inputs * kTaps;
  parallel_for(y.blocks() * groups, kGrain, [&](int64_t begin, int64_t end) {
    const Buffer room = numbers(kLanes * kTaps * kLanes);
    float* places = data_of(room);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t block = i / groups, first = i % groups * kLanes,
                    count = x.channels_of(i % groups);
      bool all_finite = true;
      for (int64_t input = 0; input < count; ++input) {
        const PointMatrices sums{from + (first + input) * columns + block * kLanes,
                                 inputs * columns, 0};
        all_finite &= transforms.transform_kernel_gradient(sums, places + input * kTaps * kLanes);
      }
      if (!all_finite) is_finite = false;
      channel_kernels(x.dtype).scatter(
          places, count * kTaps,
          weights + (block * kLanes * step + first * kTaps) * size_of(x.dtype), step,
          y.channels_of(block));
    }
  });
  return is_finite;
}

}  // namespace plait
