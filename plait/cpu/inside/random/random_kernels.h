// Vectorised generation of random numbers. Internal to plait/cpu.
#pragma once

#include <array>
#include <cstdint>

#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {

// Kernels work on whole vectors: the lengths of what they read and write are multiples of
// kRandomPadding.
inline constexpr int64_t kRandomPadding = 32;

struct RandomKernels {
  // The words of `blocks` consecutive blocks of a stream, from block `first` on; four words per
  // block.
  void (*words)(const KeyBits& key, uint64_t first, int64_t blocks, uint32_t* out) = nullptr;
  // By Distribution: f32 numbers of that distribution, one per word.
  std::array<void (*)(const uint32_t* words, float* out, int64_t count), 5> values = {};
};

extern const EachLevel<RandomKernels> kRandomKernels;

}  // namespace plait::cpu
