// Elementwise functions. Operands of different dtypes are promoted, shapes are broadcast, and a
// plain number takes the dtype of the other operands.
#pragma once

#include "plait/ops/operand.h"

namespace plait {

// ---- Unary functions. Where results are not integers in general, integers are converted to f32.
Tensor negative(const Operand& x);
Tensor absolute(const Operand& x);  // real, also for complex numbers
Tensor sign(const Operand& x);      // −1, 0 or 1; x / |x| for complex numbers; NaN for NaN
Tensor square(const Operand& x);
Tensor reciprocal(const Operand& x);
Tensor sqrt(const Operand& x);
Tensor rsqrt(const Operand& x);
Tensor exp(const Operand& x);
Tensor exp2(const Operand& x);
Tensor expm1(const Operand& x);  // e^x − 1, accurate near 0
Tensor cbrt(const Operand& x);   // real, also of negative numbers
Tensor log(const Operand& x);
Tensor log2(const Operand& x);
Tensor log10(const Operand& x);
Tensor log1p(const Operand& x);  // log(1 + x), accurate near 0
Tensor sin(const Operand& x);
Tensor cos(const Operand& x);
Tensor tan(const Operand& x);
Tensor asin(const Operand& x);
Tensor acos(const Operand& x);
Tensor atan(const Operand& x);
Tensor sinh(const Operand& x);
Tensor cosh(const Operand& x);
Tensor tanh(const Operand& x);
Tensor asinh(const Operand& x);
Tensor acosh(const Operand& x);
Tensor atanh(const Operand& x);
Tensor sigmoid(const Operand& x);
Tensor erf(const Operand& x);
Tensor floor(const Operand& x);
Tensor ceil(const Operand& x);
Tensor round(const Operand& x);  // halves to even
Tensor trunc(const Operand& x);
Tensor stop_gradient(const Operand& x);  // x as a constant of differentiation
Tensor isnan(const Operand& x);
Tensor isinf(const Operand& x);
Tensor isfinite(const Operand& x);
Tensor bitwise_not(const Operand& x);
Tensor logical_not(const Operand& x);

// ---- Binary functions.
Tensor add(const Operand& a, const Operand& b);
Tensor subtract(const Operand& a, const Operand& b);
Tensor multiply(const Operand& a, const Operand& b);
Tensor divide(const Operand& a, const Operand& b);        // integers are converted to f32
Tensor floor_divide(const Operand& a, const Operand& b);  // rounds towards −∞; 0 for integers
                                                          // divided by 0
Tensor remainder(const Operand& a, const Operand& b);     // has the sign of b; 0 for integers with
                                                          // b = 0
Tensor power(const Operand& a, const Operand& b);
Tensor maximum(const Operand& a, const Operand& b);  // NaN if either is NaN
Tensor minimum(const Operand& a, const Operand& b);
Tensor atan2(const Operand& y, const Operand& x);
Tensor hypot(const Operand& a, const Operand& b);
Tensor copysign(const Operand& magnitude, const Operand& sign);
Tensor equal(const Operand& a, const Operand& b);
Tensor not_equal(const Operand& a, const Operand& b);
Tensor less(const Operand& a, const Operand& b);
Tensor less_equal(const Operand& a, const Operand& b);
Tensor greater(const Operand& a, const Operand& b);
Tensor greater_equal(const Operand& a, const Operand& b);
Tensor bitwise_and(const Operand& a, const Operand& b);
Tensor bitwise_or(const Operand& a, const Operand& b);
Tensor bitwise_xor(const Operand& a, const Operand& b);
Tensor left_shift(const Operand& a, const Operand& b);   // 0 for shifts by the width or more
Tensor right_shift(const Operand& a, const Operand& b);  // arithmetic shift: keeps the sign
Tensor logical_and(const Operand& a, const Operand& b);
Tensor logical_or(const Operand& a, const Operand& b);
Tensor logical_xor(const Operand& a, const Operand& b);

// ---- Ternary functions.
Tensor where(const Tensor& condition, const Operand& yes, const Operand& no);
Tensor clip(const Operand& x, const Operand& low, const Operand& high);

inline Tensor operator-(const Tensor& x) { return negative(x); }
inline Tensor operator+(const Tensor& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Tensor& a, const Operand& b) { return subtract(a, b); }
inline Tensor operator*(const Tensor& a, const Operand& b) { return multiply(a, b); }
inline Tensor operator/(const Tensor& a, const Operand& b) { return divide(a, b); }
inline Tensor operator+(const Scalar& a, const Tensor& b) { return add(a, b); }
inline Tensor operator-(const Scalar& a, const Tensor& b) { return subtract(a, b); }
inline Tensor operator*(const Scalar& a, const Tensor& b) { return multiply(a, b); }
inline Tensor operator/(const Scalar& a, const Tensor& b) { return divide(a, b); }
inline Tensor operator&(const Tensor& a, const Operand& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Tensor& a, const Operand& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Tensor& a, const Operand& b) { return bitwise_xor(a, b); }
inline Tensor operator~(const Tensor& x) { return bitwise_not(x); }
inline Tensor operator==(const Tensor& a, const Operand& b) { return equal(a, b); }
inline Tensor operator!=(const Tensor& a, const Operand& b) { return not_equal(a, b); }
inline Tensor operator<(const Tensor& a, const Operand& b) { return less(a, b); }
inline Tensor operator<=(const Tensor& a, const Operand& b) { return less_equal(a, b); }
inline Tensor operator>(const Tensor& a, const Operand& b) { return greater(a, b); }
inline Tensor operator>=(const Tensor& a, const Operand& b) { return greater_equal(a, b); }

void register_unary_ops();
void register_binary_ops();

}  // namespace plait
