// The parts of complex numbers.
//
// Derivatives are JAX's: to first order a function changes by Re(cotangent · tangent), without
// conjugation, so the gradient of |z|² is 2·conj(z).
#pragma once

#include "plait/ops/operand.h"

namespace plait {

Tensor real(const Tensor& x);  // itself where it is not complex
Tensor imag(const Tensor& x);  // 0 where it is not complex
Tensor conj(const Tensor& x);
Tensor angle(const Tensor& x);  // in (−π, π]; 0 or π of real numbers
Tensor make_complex(const Operand& real, const Operand& imag);

void register_complex_ops();

}  // namespace plait
