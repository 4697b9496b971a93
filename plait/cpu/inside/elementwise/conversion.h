// Numbers in another dtype. What they become, core/numbers/element.h says.
#pragma once

#include <vector>

#include "plait/cpu/inside/elementwise/cpu_kernels.h"
#include "plait/tensor/kernels.h"

namespace plait {

// Without gaps; the array itself where it has the dtype.
Array converted(const Array& array, DType dtype);
// The same for a row without gaps, on this thread; false where there are no loops for it.
bool convert_row(const RowCall& row);

namespace cpu {

struct Conversion {
  DType from, to;
  DenseLoop run;
};
using Conversions = std::vector<Conversion>;

extern const EachLevel<Conversions> kConversions;
// To f32, on the way to narrow floats.
extern const EachLevel<Conversions> kStickyConversions;

}  // namespace cpu
}  // namespace plait
