// Random numbers on the CPU: kernels of the primitives in ops/inside/random/random_primitives.h.
#pragma once

#include "plait/tensor/kernels.h"

namespace plait {

void random_bits(KernelCall& call, const void*);
void random_values(KernelCall& call, const void*);
void random_integers(KernelCall& call, const void*);

}  // namespace plait
