// Reductions of the buffers of several ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/comm/reduce_op.h"
#include "plait/core/numbers/dtype.h"

namespace plait::dist {

// TypeError if the dtype cannot be reduced like this: "all_reduce: …".
void check_reduction(std::string_view function, ReduceOp op, DType dtype);

// out[i] = ((parts[0][i] + parts[1][i]) + parts[2][i]) + …, in the order of the parts, whatever the
// count. Floats of 16 and 8 bits are added as f32, and rounded once. `out` may be one of the parts.
// An average is divided by the number of parts.
void reduce_parts(ReduceOp op, DType dtype, std::span<const std::byte* const> parts, std::byte* out,
                  int64_t count);

}  // namespace plait::dist
