// Conversion of arrays to other dtypes. The values are those of core/numbers/element.h.
#pragma once

#include <vector>

#include "plait/cpu/inside/elementwise/cpu_kernels.h"
#include "plait/tensor/kernels.h"

namespace plait {

// Returns a contiguous array, or the array itself if it already has the dtype.
Array converted(const Array& array, DType dtype);
// Converts a contiguous row on the calling thread. Returns false if no loop exists for these
// dtypes.
bool convert_row(const RowCall& row);

namespace cpu {

struct Conversion {
  DType from, to;
  DenseLoop run;
};
using Conversions = std::vector<Conversion>;

extern const EachLevel<Conversions> kConversions;
// Conversion to f32 as an intermediate step to narrow floats (sticky_float.h).
extern const EachLevel<Conversions> kStickyConversions;

}  // namespace cpu
}  // namespace plait
