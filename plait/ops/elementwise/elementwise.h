// Functions of the elements at the same place: operands of different dtypes are promoted, sizes of
// 1 stretch, and a plain number takes the dtype of the others.
#pragma once

#include "plait/ops/operand.h"

namespace plait {

// ---- Of one operand. Functions that have no values in the integers give f32 for them.
Tensor negative(const Operand& x);
Tensor absolute(const Operand& x);  // real, also of complex numbers
Tensor sign(const Operand& x);      // −1, 0 or 1; x / |x| of complex numbers; NaN of NaN
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
Tensor stop_gradient(const Operand& x);  // x, as if it depended on nothing
Tensor isnan(const Operand& x);
Tensor isinf(const Operand& x);
Tensor isfinite(const Operand& x);
Tensor bitwise_not(const Operand& x);
Tensor logical_not(const Operand& x);

// ---- Of two.
Tensor add(const Operand& a, const Operand& b);
Tensor subtract(const Operand& a, const Operand& b);
Tensor multiply(const Operand& a, const Operand& b);
Tensor divide(const Operand& a, const Operand& b);        // of integers: f32
Tensor floor_divide(const Operand& a, const Operand& b);  // towards −∞; integers by 0 give 0
Tensor remainder(const Operand& a, const Operand& b);     // has the sign of b; integers by 0 give 0
Tensor power(const Operand& a, const Operand& b);
Tensor maximum(const Operand& a, const Operand& b);  // NaN where either is
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
Tensor left_shift(const Operand& a, const Operand& b);   // by the width or more: 0
Tensor right_shift(const Operand& a, const Operand& b);  // keeps the sign
Tensor logical_and(const Operand& a, const Operand& b);
Tensor logical_or(const Operand& a, const Operand& b);
Tensor logical_xor(const Operand& a, const Operand& b);

// ---- Of three.
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
