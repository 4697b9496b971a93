// Kernels of rows.h: one contiguous row at a time.
#pragma once

#include <array>
#include <cstdint>

#include "plait/cpu/cpu_level.h"

namespace plait::cpu {

template <class T>
struct RowKernels {
  void (*softmax)(const T* x, T* out, int64_t count, bool masked_is_zero) = nullptr;
  void (*log_softmax)(const T* x, T* out, int64_t count) = nullptr;
  // Returns the scale.
  T (*standardize)(const T* x, T* out, int64_t count, bool is_centred, double epsilon) = nullptr;
};

struct AllRowKernels {
  RowKernels<float> f32;
  RowKernels<double> f64;
};

// One function per level, as in cpu_kernels.h.
extern const std::array<void (*)(AllRowKernels&), kCpuLevelCount> kRowKernels;

}  // namespace plait::cpu
