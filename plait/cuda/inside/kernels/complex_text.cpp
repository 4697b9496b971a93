#include "plait/cuda/inside/kernels/complex_text.h"

namespace plait::cuda {

const std::string_view kComplexText = R"(
template <class C> INLINE C added(C a, C b) { return C{a.re + b.re, a.im + b.im}; }
INLINE bool is_endless(f32 x) { return (bits_of(x) & 0x7fffffffu) == 0x7f800000u; }
INLINE bool is_endless(f64 x) { return (bits_of(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull; }
INLINE f32 with_sign(f32 x, f32 sign) { return copysignf(x, sign); }
INLINE f64 with_sign(f64 x, f64 sign) { return copysign(x, sign); }

// 1 for an infinite part, else 0; 0 for a NaN; signs remain.
template <class C> INLINE C unit_of_infinity(C x) {
  x.re = with_sign(is_endless(x.re) ? 1 : 0, x.re);
  x.im = with_sign(is_endless(x.im) ? 1 : 0, x.im);
  return x;
}
template <class C> INLINE C without_nan(C x) {
  if (x.re != x.re) x.re = with_sign(0, x.re);
  if (x.im != x.im) x.im = with_sign(0, x.im);
  return x;
}
// As C multiplies: what is infinite times what is not zero is infinite, though the sums of the
// parts are NaN.
template <class C> INLINE C multiplied(C a, C b) {
  const auto ac = a.re * b.re, bd = a.im * b.im, ad = a.re * b.im, bc = a.im * b.re;
  C product = {ac - bd, ad + bc};
  if (product.re == product.re || product.im == product.im) return product;
  bool again = false;
  if (is_endless(a.re) || is_endless(a.im)) {
    a = unit_of_infinity(a);
    b = without_nan(b);
    again = true;
  }
  if (is_endless(b.re) || is_endless(b.im)) {
    b = unit_of_infinity(b);
    a = without_nan(a);
    again = true;
  }
  if (!again && (is_endless(ac) || is_endless(bd) || is_endless(ad) || is_endless(bc))) {
    a = without_nan(a);
    b = without_nan(b);
    again = true;
  }
  const f32 infinity = single_of(0x7f800000u);
  if (again) {
    product.re = infinity * (a.re * b.re - a.im * b.im);
    product.im = infinity * (a.re * b.im + a.im * b.re);
  }
  return product;
}
)";

}  // namespace plait::cuda
