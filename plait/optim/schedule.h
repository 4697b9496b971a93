// Rates that change as training goes on: numbers of f64 by the number of steps made, also in jitted
// functions.
//
//   optimizer.lr = optim::warmup_cosine(optimizer.steps, {.peak = 1e-3, .total = 1000});
#pragma once

#include <cstdint>

#include "plait/tensor/tensor.h"

namespace plait::optim {

struct WarmupCosine {
  double peak = 1e-3;
  double least = 0;
  int64_t warmup = 0;  // steps in which it rises evenly to the peak
  int64_t total = 0;   // steps after which it is the least
};
// Falls from the peak as a cosine does from 0 to π.
Tensor warmup_cosine(const Tensor& steps, const WarmupCosine& schedule);

}  // namespace plait::optim
