// Parts of complex numbers.
//
// Derivatives follow JAX's convention: the first-order change of a function is Re(cotangent ·
// tangent), without conjugation, so the gradient of |z|² is 2·conj(z).
#pragma once

#include "plait/ops/operand.h"

namespace plait {

Tensor real(const Tensor& x);  // x if it is not complex
Tensor imag(const Tensor& x);  // 0 if x is not complex
Tensor conj(const Tensor& x);
Tensor angle(const Tensor& x);  // in (−π, π]; 0 or π for real numbers
Tensor make_complex(const Operand& real, const Operand& imag);

void register_complex_ops();

}  // namespace plait
