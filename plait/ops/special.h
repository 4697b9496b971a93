// Functions beyond the everyday ones, and those that look at a number's parts. As in elementwise.h:
// dtypes are promoted, sizes of 1 stretch.
#pragma once

#include <optional>

#include "plait/ops/operand.h"

namespace plait {

Tensor erfc(const Operand& x);     // 1 − erf, accurate where that is small
Tensor erfinv(const Operand& x);   // NaN beyond −1 and 1
Tensor lgamma(const Operand& x);   // log |Γ(x)|
Tensor digamma(const Operand& x);  // the derivative of lgamma
// The n-th derivative of digamma, for whole n; NaN below 0 for n > 1.
Tensor polygamma(const Operand& n, const Operand& x);
Tensor logaddexp(const Operand& a, const Operand& b);  // log(e^a + e^b)
Tensor xlogy(const Operand& x, const Operand& y);      // x log y; 0 for x = 0 unless y is NaN

Tensor fmod(const Operand& a, const Operand& b);       // has the sign of a; integers by 0 give 0
Tensor frac(const Operand& x);                         // what trunc leaves
Tensor nextafter(const Operand& x, const Operand& y);  // the next number towards y
Tensor signbit(const Operand& x);                      // also of −0 and of NaN

// What stands in for NaN, ∞ and −∞; the greatest and least numbers of the dtype where not given.
struct NanReplacements {
  double nan = 0;
  std::optional<double> positive_infinity = {}, negative_infinity = {};
};
Tensor nan_to_num(const Tensor& x, const NanReplacements& replacements = {});

// From start to end by weight: both ends are met exactly.
Tensor lerp(const Operand& start, const Operand& end, const Operand& weight);
Tensor addcmul(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale = 1);
Tensor addcdiv(const Operand& x, const Operand& a, const Operand& b, const Scalar& scale = 1);

// |a − b| ≤ absolute + relative |b|; an infinity is close to itself alone.
struct Closeness {
  double relative = 1e-5, absolute = 1e-8;
  bool equal_nan = false;
};
Tensor isclose(const Operand& a, const Operand& b, const Closeness& closeness = {});
Tensor allclose(const Operand& a, const Operand& b, const Closeness& closeness = {});
Tensor array_equal(const Tensor& a, const Tensor& b);  // false where the sizes differ

void register_special_ops();

}  // namespace plait
