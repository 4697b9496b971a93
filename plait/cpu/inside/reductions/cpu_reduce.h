// Reductions on the CPU.
#pragma once

#include <cstdint>
#include <span>

#include "plait/ir/index_signature.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// What is reduced.
enum class Reduced : uint8_t { elements, squares };

// Whether reduce() takes this reduction of this dtype.
bool has_reduction(ir::Reduction reduction, DType dtype, Reduced reduced = Reduced::elements);

// out[kept…] = the reduction of x, or of its squares, along `axes` (ascending). `out` has the dtype
// of x and the sizes that are kept, in a row, and is writable. Partial results are combined in
// pairs, so that the error of a sum grows with the logarithm of its length; narrow floats are
// summed in f32. The same on every run, whatever the number of threads.
void reduce(ir::Reduction reduction, const Array& x, std::span<const int64_t> axes, Array& out,
            Reduced reduced = Reduced::elements);

}  // namespace plait
