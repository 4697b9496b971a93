// Random numbers on the device: the bits are those of the CPU. Keys are on the host.
#pragma once

namespace plait::cuda {

// random_bits, random_values, random_integers, truncated_normal, and those of cuda_draws.h.
void register_random_kernels();

}  // namespace plait::cuda
