// More elements around a tensor.
#pragma once

#include <cstdint>
#include <span>

#include "plait/ops/operand.h"

namespace plait {

enum class PadMode : uint8_t {
  constant,  // one number
  edge,      // the first and the last elements again and again
  reflect,   // mirrored at the first and the last element, which is not repeated
  wrap,      // as if the tensor went on from the other end
};

struct PadWidth {
  Dim before = 0;
  Dim after = 0;
};

// One width a dimension, or fewer for the last ones; `value` is for PadMode::constant. ValueError
// for widths below 0, and for ones that a mode has not enough elements for.
Tensor pad(const Tensor& x, std::span<const PadWidth> widths, PadMode mode = PadMode::constant,
           const Scalar& value = 0);
Tensor pad(const Tensor& x, std::initializer_list<PadWidth> widths,
           PadMode mode = PadMode::constant, const Scalar& value = 0);

}  // namespace plait
