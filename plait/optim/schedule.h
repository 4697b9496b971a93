// Learning rate schedules: f64 functions of the number of steps so far. They also work in
// jitted functions.
//
//   optimizer.lr = optim::warmup_cosine(optimizer.steps, {.peak = 1e-3, .total = 1000});
#pragma once

#include <cstdint>

#include "plait/tensor/tensor.h"

namespace plait::optim {

struct WarmupCosine {
  double peak = 1e-3;
  double least = 0;
  int64_t warmup = 0;  // steps of the linear warmup
  int64_t total = 0;   // steps until the rate is `least`
};
// Linear warmup to the peak, then cosine decay.
Tensor warmup_cosine(const Tensor& steps, const WarmupCosine& schedule);

}  // namespace plait::optim
