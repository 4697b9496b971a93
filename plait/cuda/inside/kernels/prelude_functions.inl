R"cuda(
// ---- Functions of floats. Where CUDA's function of f32 is off by more than 2 ulp, f64 is computed
// and rounded.
namespace op {

#define IN_BOTH(name) \
  INLINE f32 name(f32 x) { return ::name##f(x); } \
  INLINE f64 name(f64 x) { return ::name(x); }
#define THROUGH_DOUBLE(name) \
  INLINE f64 name(f64 x) { return ::name(x); } \
  INLINE f32 name(f32 x) { return (f32)::name((f64)x); }
#define ROUNDED(name) INLINE f32 name(f32 x) { return (f32)name((f64)x); }
#define ROUNDED_OF_TWO(name) INLINE f32 name(f32 a, f32 b) { return (f32)name((f64)a, (f64)b); }
IN_BOTH(sqrt) IN_BOTH(floor) IN_BOTH(ceil) IN_BOTH(trunc) IN_BOTH(exp) IN_BOTH(exp2) IN_BOTH(expm1)
IN_BOTH(log) IN_BOTH(log2) IN_BOTH(log10) IN_BOTH(log1p) IN_BOTH(sin) IN_BOTH(cos) IN_BOTH(tanh) IN_BOTH(cbrt)
IN_BOTH(asin) IN_BOTH(acos) IN_BOTH(atan) IN_BOTH(erf)
THROUGH_DOUBLE(tan) THROUGH_DOUBLE(sinh) THROUGH_DOUBLE(cosh) THROUGH_DOUBLE(asinh) THROUGH_DOUBLE(acosh)
THROUGH_DOUBLE(atanh) THROUGH_DOUBLE(erfc) THROUGH_DOUBLE(erfinv) THROUGH_DOUBLE(lgamma) THROUGH_DOUBLE(erfcx)
INLINE f32 round(f32 x) { return ::rintf(x); }
INLINE f64 round(f64 x) { return ::rint(x); }
INLINE f32 rsqrt(f32 x) { return 1.f / ::sqrtf(x); }
INLINE f64 rsqrt(f64 x) { return 1. / ::sqrt(x); }
INLINE f32 copysign(f32 a, f32 b) { return ::copysignf(a, b); }
INLINE f64 copysign(f64 a, f64 b) { return ::copysign(a, b); }
INLINE f64 atan2(f64 a, f64 b) { return ::atan2(a, b); }
INLINE f64 hypot(f64 a, f64 b) { return ::hypot(a, b); }
INLINE f64 power(f64 a, f64 b) { return ::pow(a, b); }
ROUNDED_OF_TWO(atan2) ROUNDED_OF_TWO(hypot) ROUNDED_OF_TWO(power)
#define SIGMOID(T) \
  INLINE T sigmoid(T x) { \
    const T small = exp(x < 0 ? x : -x); \
    return (x < 0 ? small : (T)1) / ((T)1 + small); \
  }
SIGMOID(f32) SIGMOID(f64)
#undef SIGMOID

INLINE f64 logaddexp(f64 a, f64 b) {
  const f64 larger = a > b ? a : b, distance = a == b ? 0. : fabs(a - b);
  return distance != distance ? distance : larger + ::log1p(::exp(-distance));
}
INLINE f64 logaddexp2(f64 a, f64 b) {
  if (a == b) return a + 1;
  const f64 distance = a - b, larger = a > b ? a : b;
  return distance != distance ? distance : larger + ::log1p(::exp2(-fabs(distance))) * 1.4426950408889634074;
}
INLINE f64 entr(f64 x) { return x > 0 ? -x * ::log(x) : x < 0 ? -double_of(0x7ff0000000000000ull) : x; }
INLINE f64 log1mexp(f64 x) {
  return x < 0.69314718055994530942 ? ::log(-::expm1(-x)) : ::log1p(-::exp(-x));
}
INLINE f64 ldexp(f64 x, f64 e) {
  return e != e ? e : ::ldexp(x, (int)(e < -5000. ? -5000. : e > 5000. ? 5000. : e));
}
INLINE f64 exponent(f64 x) {
  int result = 0;
  if (x - x == 0) ::frexp(x, &result);
  return result;
}
// erfc amplifies the rounding of -x / sqrt(2), high; low is what is missing there.
INLINE f64 ndtr(f64 x) {
  const f64 high = -0.70710678118654752440 * x;
  if (!(::fabs(x) < 40)) return 0.5 * ::erfc(high);
  const f64 low = ::fma(-0.70710678118654752440, x, -high) + 4.8336466567264567e-17 * x;
  return 0.5 * (::erfc(high) - 1.1283791670955126 * ::exp(-high * high) * low);
}
INLINE f64 log_ndtr(f64 x) {
  if (x > 0) return ::log1p(-ndtr(-x));
  if (!(x < -5)) return ::log(ndtr(x));
  return ::log(::erfcx(-0.70710678118654752440 * x) / 2) - x * x / 2;
}
INLINE f64 ndtri(f64 p) {
  if (!(p >= 0 && p <= 1)) return double_of(0x7ff8000000000000ull);
  return ::normcdfinv(p);
}
ROUNDED_OF_TWO(logaddexp) ROUNDED_OF_TWO(logaddexp2) ROUNDED_OF_TWO(ldexp)
ROUNDED(entr) ROUNDED(log1mexp) ROUNDED(exponent) ROUNDED(ndtr) ROUNDED(log_ndtr) ROUNDED(ndtri)

// ---- Complex numbers; c64 is computed in c128, except for sums and products.

INLINE c128 wide(c64 a) { return c128{(f64)a.re, (f64)a.im}; }
INLINE c64 short_of(c128 a) { return c64{(f32)a.re, (f32)a.im}; }
#define ROUNDED_COMPLEX(name) INLINE c64 name(c64 a) { return short_of(name(wide(a))); }

INLINE f64 absolute(c128 a) { return ::hypot(a.re, a.im); }
INLINE f32 absolute(c64 a) { return (f32)absolute(wide(a)); }
INLINE c128 sign(c128 a) {
  const f64 size = absolute(a);
  return size == 0 ? c128{0, 0} : c128{a.re / size, a.im / size};
}
// Smith's method, which avoids overflow.
INLINE c128 divide(c128 a, c128 b) {
  const f64 real = fabs(b.re), imag = fabs(b.im);
  if (real == 0 && imag == 0) return c128{a.re / real, a.im / real};
  if (real >= imag) {
    const f64 ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return c128{(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  const f64 ratio = b.re / b.im, scale = 1 / (b.im + b.re * ratio);
  return c128{(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}
INLINE c64 divide(c64 a, c64 b) { return short_of(divide(wide(a), wide(b))); }
INLINE c128 reciprocal(c128 a) { return divide(c128{1, 0}, a); }
ROUNDED_COMPLEX(sign) ROUNDED_COMPLEX(reciprocal)

#undef IN_BOTH
#undef THROUGH_DOUBLE
#undef ROUNDED
#undef ROUNDED_OF_TWO
#undef ROUNDED_COMPLEX
#undef EACH_FLOAT
#undef EACH_COMPLEX
#undef WIDE
}  // namespace op
)cuda"
