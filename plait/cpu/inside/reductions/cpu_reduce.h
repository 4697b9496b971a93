// Reductions on the CPU.
#pragma once

#include <cstdint>
#include <span>

#include "plait/ir/index_signature.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// The quantity that is reduced.
enum class Reduced : uint8_t { elements, squares };

// Returns whether reduce() implements this reduction for this dtype.
bool has_reduction(ir::Reduction reduction, DType dtype, Reduced reduced = Reduced::elements);

// out[kept…] = the reduction of x, or of its squares, along `axes` (ascending). `out` has the dtype
// of x and the remaining sizes, and is contiguous and writable. Partial results are combined
// pairwise, so that the error of a sum grows with the logarithm of its length; narrow floats are
// accumulated in f32. The result does not depend on the number of threads.
void reduce(ir::Reduction reduction, const Array& x, std::span<const int64_t> axes, Array& out,
            Reduced reduced = Reduced::elements);

}  // namespace plait
