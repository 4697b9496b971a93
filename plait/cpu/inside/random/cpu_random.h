// Random numbers on the CPU: kernels of the primitives in ops/inside/random/random_primitives.h.
#pragma once

#include <cstdint>

#include "plait/core/numbers/element.h"
#include "plait/tensor/kernels.h"

namespace plait {

void random_bits(KernelCall& call, const void*);
void random_values(KernelCall& call, const void*);
void random_integers(KernelCall& call, const void*);

// The elements of random_values from `first` on, uniform f32 of one key, on the calling thread.
void draw_uniform(const KeyBits& key, int64_t first, int64_t count, float* out);

}  // namespace plait
