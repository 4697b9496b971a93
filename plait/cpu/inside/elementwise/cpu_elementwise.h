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

// One pass over `count` elements. Strides are in bytes: 0 for an operand that repeats, negative for
// one that runs backwards. `out` may be an operand with the same stride, else it overlaps none.
using ElementwiseLoop = void (*)(std::byte* out, int64_t out_stride, const std::byte* const* in,
                                 const int64_t* in_strides, int64_t count);

// The loop of an operation on operands of a dtype, null when there is none. It uses the
// instructions that the setting `cpu` allows when it is called. What the operations give is NumPy's
// where NumPy has them, and:
// - operands have the same dtype, and so does the result, but: is_… and comparisons give bool;
//   absolute, real and imag of a complex number give its real dtype; the first operand of select is
//   bool; select(condition, if_true, if_false), clamp(low, x, high)
// - narrow floats are computed with in f32 and rounded once; f32 and f64 are within 2 ulp
// - integers wrap. x // 0, x % 0 and fmod(x, 0) are 0; power to a negative exponent is the quotient
//   1 / x^-n towards 0, and 0 for x = 0; a shift by the width or more, or a negative number, gives
//   0, or -1 for a negative number shifted right
// - of two zeros maximum and minimum take the first; clamp is minimum(maximum(x, low), high)
ElementwiseLoop find_elementwise_loop(std::string_view op, DType operand_dtype);

// Runs the loop over arrays of equal sizes and any layouts, in the thread team. ShapeError when the
// sizes differ. `out` is written to. One element costs as much as `cost_per_element` additions.
void run_elementwise(ElementwiseLoop loop, std::span<const Array> operands, Array& out,
                     int64_t cost_per_element = 1);
void run_elementwise_row(ElementwiseLoop loop, const RowCall& row, int64_t cost_per_element = 1);

}  // namespace plait
