// Padding.
#pragma once

#include <cstdint>
#include <span>

#include "plait/ops/operand.h"

namespace plait {

enum class PadMode : uint8_t {
  constant,  // one value everywhere
  edge,      // repeats the first and the last element
  reflect,   // mirrors at the first and the last element, which are not repeated
  wrap,      // periodic: continues with the other end
};

struct PadWidth {
  Dim before = 0;
  Dim after = 0;
};

// One width per dimension, or fewer for the last dimensions only. `value` is for PadMode::constant.
// Throws ValueError for negative widths and for widths that a mode has too few elements for.
Tensor pad(const Tensor& x, std::span<const PadWidth> widths, PadMode mode = PadMode::constant,
           const Scalar& value = 0);
Tensor pad(const Tensor& x, std::initializer_list<PadWidth> widths,
           PadMode mode = PadMode::constant, const Scalar& value = 0);

}  // namespace plait
