// Sums and products of complex numbers, in CUDA C++.
#pragma once

#include <string_view>

namespace plait::cuda {

// added(a, b) and multiplied(a, b), for c64 and c128.
extern const std::string_view kComplexText;

}  // namespace plait::cuda
