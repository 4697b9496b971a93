// Adam with moments of 8 bits.
#pragma once

#include "plait/optim/transformations/descents.h"
#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

struct Adam8BitOptions {
  Number b1 = 0.9;
  Number b2 = 0.999;
  Number eps = 1e-8;
  Number eps_root = 0;
};
// As scale_by_adam, with 8 bits for each element of the moments, and one f32 for each block of 256.
// With m the largest magnitude of its block, an element x of mu is off by at most
// (√(|x| m) + m / 508) / 127, and one of nu by at most 2 (⁴√(x / m) + 1 / 510)³ m / 255.
Transformation scale_by_adam_8bit(const Adam8BitOptions& options = {});
Transformation adamw_8bit(Number learning_rate, const Adam8BitOptions& options = {},
                          const DecayOptions& decay = {.weight_decay = 1e-4});

// Codes of blocks of 256: sign · most · |x / largest|^(1 / power), rounded; `largest` is the
// largest magnitude of each.
struct Codes {
  Tensor codes, largest;
};
Codes encoded(const Tensor& x, double most, double power);
Tensor decoded(const Codes& codes, double most, double power, const Shape& shape);

}  // namespace plait::optim
