// Random numbers, many at a time. Inside of plait/cpu.
#pragma once

#include <array>
#include <cstdint>

#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {

// They work on whole vectors, so what they read and write is a multiple of kRandomPadding long.
inline constexpr int64_t kRandomPadding = 32;

struct RandomKernels {
  // The words of `blocks` blocks of a stream from `first` on; four words a block.
  void (*words)(const KeyBits& key, uint64_t first, int64_t blocks, uint32_t* out) = nullptr;
  // f32 of a Distribution, in the order of its enumerators, each from one word.
  std::array<void (*)(const uint32_t* words, float* out, int64_t count), 5> values = {};
};

extern const EachLevel<RandomKernels> kRandomKernels;

}  // namespace plait::cpu
