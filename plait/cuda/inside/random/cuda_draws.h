// Draws with parameters on the device: one thread draws an element, as the CPU does
// (ops/inside/random/*.inl). Bad parameters are noted, and refused by the next wait.
#pragma once

namespace plait::cuda {

// random_gamma, random_poisson, random_binomial, random_multinomial.
void register_draw_kernels();

}  // namespace plait::cuda
