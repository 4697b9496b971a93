// Compound assignment, x += y and so on. x becomes the result, computed in place if no other tensor
// shares its memory; tensors that share it keep their values. The dtype and sizes of x do not
// change: TypeError if the dtype of x is of a lower kind than that of y, ShapeError if y does not
// broadcast to x.
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
