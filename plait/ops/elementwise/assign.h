// x += y and so on: x becomes the result, in the memory that it had where nobody else has it. The
// dtype and the sizes of x stay: TypeError where it has a lesser kind of numbers than y, ShapeError
// where y cannot be broadcast to it. Tensors that shared x's elements keep theirs.
#pragma once

#include "plait/ops/operand.h"

namespace plait {

Tensor& operator+=(Tensor& x, const Operand& y);
Tensor& operator-=(Tensor& x, const Operand& y);
Tensor& operator*=(Tensor& x, const Operand& y);
Tensor& operator/=(Tensor& x, const Operand& y);  // TypeError for integers, whose quotients are f32
Tensor& operator&=(Tensor& x, const Operand& y);
Tensor& operator|=(Tensor& x, const Operand& y);
Tensor& operator^=(Tensor& x, const Operand& y);

}  // namespace plait
