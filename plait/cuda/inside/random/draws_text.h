// The texts of the kernels of draws with parameters, each of a kernel of that name.
#pragma once

#include <string>
#include <string_view>

#include "plait/core/numbers/dtype.h"

namespace plait::cuda {

// In namespace `shared`: what the library computes with bits (ops/inside/random/random_units.inl).
// Philox's text comes before it.
std::string random_units_text(std::string_view more = {});

std::string random_gamma_text(DType dtype);
// `dtype` is that of the rates, probabilities or weights.
std::string random_poisson_text(DType dtype);
std::string random_binomial_text(DType dtype);
std::string random_multinomial_text(DType dtype);

}  // namespace plait::cuda
