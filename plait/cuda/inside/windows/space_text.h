// Places in up to three dimensions, for texts that define Number, Place and SPACE: split, which
// divides the number of a place, and the loop over the elements of a result.
#pragma once

#include <string_view>

namespace plait::cuda {

inline constexpr std::string_view kSpaceText = R"(
// Returns what is left of the number.
INLINE Number split(Number number, const Number (&sizes)[3], Place (&at)[3]) {
  #pragma unroll
  for (int d = 2; d >= 0; --d) {
    at[d] = 0;
    if (d < 3 - SPACE) continue;
    const Number rest = number / sizes[d];
    at[d] = (Place)(number - rest * sizes[d]);
    number = rest;
  }
  return number;
}
#define EACH(i) Number i = blockIdx.x * 256u + threadIdx.x; i < (Number)total; i += gridDim.x * 256u
)";

}  // namespace plait::cuda
