// CUDA C++ that comes before the text of each kernel (prelude.inl): dtypes, conversions, and the
// elementwise functions with Plait's meaning.
#pragma once

#include <string_view>

namespace plait::cuda {

std::string_view prelude();

}  // namespace plait::cuda
