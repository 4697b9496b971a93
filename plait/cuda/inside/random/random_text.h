// The texts of the kernels of random numbers.
#pragma once

#include <string>

#include "plait/core/numbers/dtype.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait::cuda {

// Each is the text of a kernel of that name.
std::string random_bits_text(int64_t element_size);
std::string random_values_text(Distribution distribution, DType dtype);
std::string random_integers_text();
std::string truncated_normal_text(DType dtype);

}  // namespace plait::cuda
