// Loops that compute each element of a result from one element of each operand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "plait/core/numbers/dtype.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// A loop over `count` elements. Strides are in bytes, and may be 0 for a broadcast operand, or
// negative. `out` may be an operand with the same stride; otherwise it overlaps no operand.
using ElementwiseLoop = void (*)(std::byte* out, int64_t out_stride, const std::byte* const* in,
                                 const int64_t* in_strides, int64_t count);

// Returns the loop of an operation for operands of a dtype, or null if there is none. It uses the
// instructions that the setting `cpu` allows at the time of the call. Results are those of NumPy
// where NumPy has the operation, and:
// - all operands and the result have the same dtype, except that is_… and comparisons return bool;
//   absolute, real and imag of a complex number return its real dtype; and the first operand of
//   select is bool. Orders: select(condition, if_true, if_false), clamp(low, x, high)
// - narrow floats are computed in f32 and rounded once; f32 and f64 are within 2 ulp
// - integers wrap. x // 0, x % 0 and fmod(x, 0) are 0; power to a negative exponent is the quotient
//   1 / x^-n rounded towards 0, and 0 for x = 0; a shift by the width or more, or by a negative
//   number, gives 0, or -1 for a negative number shifted right
// - for two zeros, maximum and minimum return the first; clamp is minimum(maximum(x, low), high)
ElementwiseLoop find_elementwise_loop(std::string_view op, DType operand_dtype);

// Runs the loop over arrays of equal sizes and any layouts, in the thread team, and writes to
// `out`. Throws ShapeError if the sizes differ. `cost_per_element` is in units of an addition.
void run_elementwise(ElementwiseLoop loop, std::span<const Array> operands, Array& out,
                     int64_t cost_per_element = 1);
void run_elementwise_row(ElementwiseLoop loop, const RowCall& row, int64_t cost_per_element = 1);

}  // namespace plait
