R"cuda(
// ---- Elementwise operations, by the names of their primitives: as the CPU computes them.
namespace op {

// Integers are computed as unsigned ones of at least 32 bits, which wrap.
template <class T> struct Unsigned { typedef u32 Type; };
template <> struct Unsigned<i64> { typedef u64 Type; };
template <> struct Unsigned<u64> { typedef u64 Type; };
#define WIDE(x) ((typename Unsigned<T>::Type)(x))
#define EACH_FLOAT(MACRO) MACRO(f32) MACRO(f64)
#define EACH_COMPLEX(MACRO) MACRO(c64, f32) MACRO(c128, f64)

template <class T> INLINE bool is_negative(T x) { return (T)-1 < (T)0 && x < (T)0; }
template <class T> INLINE T stop_gradient(T x) { return x; }
template <class T> INLINE T checkpoint_name(T x) { return x; }

template <class T> INLINE T add(T a, T b) { return (T)(WIDE(a) + WIDE(b)); }
template <class T> INLINE T subtract(T a, T b) { return (T)(WIDE(a) - WIDE(b)); }
template <class T> INLINE T multiply(T a, T b) { return (T)(WIDE(a) * WIDE(b)); }
template <class T> INLINE T negative(T a) { return (T)(WIDE(0) - WIDE(a)); }
INLINE bool add(bool a, bool b) { return a || b; }
INLINE bool multiply(bool a, bool b) { return a && b; }
#define FLOAT(T) \
  INLINE T add(T a, T b) { return a + b; } \
  INLINE T subtract(T a, T b) { return a - b; } \
  INLINE T multiply(T a, T b) { return a * b; } \
  INLINE T negative(T a) { return -a; } \
  INLINE T divide(T a, T b) { return a / b; } \
  INLINE T reciprocal(T a) { return (T)1 / a; }
EACH_FLOAT(FLOAT)
#undef FLOAT
#define COMPLEX(C, T) \
  INLINE C add(C a, C b) { return C{a.re + b.re, a.im + b.im}; } \
  INLINE C subtract(C a, C b) { return C{a.re - b.re, a.im - b.im}; } \
  INLINE C multiply(C a, C b) { return C{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; } \
  INLINE C negative(C a) { return C{-a.re, -a.im}; } \
  INLINE C conjugate(C a) { return C{a.re, -a.im}; } \
  INLINE T real(C a) { return a.re; } \
  INLINE T imag(C a) { return a.im; } \
  INLINE C make_complex(T re, T im) { return C{re, im}; }
EACH_COMPLEX(COMPLEX)
#undef COMPLEX
template <class T> INLINE T square(T a) { return multiply(a, a); }

// ---- Comparisons and selection. A NaN beats every number.

template <class T> INLINE bool equal(T a, T b) { return a == b; }
template <class T> INLINE bool not_equal(T a, T b) { return a != b; }
template <class T> INLINE bool less(T a, T b) { return a < b; }
template <class T> INLINE bool less_equal(T a, T b) { return a <= b; }
#define PARTS(C, first, second) \
  INLINE bool equal(C a, C b) { return a.first == b.first && a.second == b.second; } \
  INLINE bool not_equal(C a, C b) { return !equal(a, b); }
PARTS(c64, re, im) PARTS(c128, re, im) PARTS(key, high, low)
#undef PARTS
template <class T> INLINE bool is_unordered(T a) { return a != a; }
template <class T> INLINE T maximum(T a, T b) { return a >= b || is_unordered(a) ? a : b; }
template <class T> INLINE T minimum(T a, T b) { return a <= b || is_unordered(a) ? a : b; }
template <class T> INLINE T clamp(T low, T x, T high) {
  T result = x < low ? low : x;
  result = result > high ? high : result;
  result = is_unordered(low) ? low : result;
  return is_unordered(high) ? high : result;
}
template <class T> INLINE T select(bool condition, T a, T b) { return condition ? a : b; }
template <class T> INLINE T relu(T a) { return a < (T)0 ? (T)0 : a; }
template <class T> INLINE T absolute(T a) { return is_negative(a) ? negative(a) : a; }
template <class T> INLINE T sign(T a) { return (T)((a > (T)0) - is_negative(a)); }
INLINE f32 absolute(f32 a) { return fabsf(a); }
INLINE f64 absolute(f64 a) { return fabs(a); }
#define FLOAT(T) INLINE T sign(T a) { return a != a ? a : (T)((a > 0) - (a < 0)); }
EACH_FLOAT(FLOAT)
#undef FLOAT

// ---- Division of integers: rounded down, with the remainder of the sign of b; by 0 it gives 0.

template <class T> INLINE bool is_minus_one(T b) { return (T)-1 < (T)0 && b == (T)-1; }
template <class T> INLINE T fmod(T a, T b) { return b == 0 || is_minus_one(b) ? (T)0 : (T)(a % b); }
template <class T> INLINE T remainder(T a, T b) {
  const T rest = fmod(a, b);
  return rest != 0 && is_negative(rest) != is_negative(b) ? (T)(WIDE(rest) + WIDE(b)) : rest;
}
template <class T> INLINE T floor_divide(T a, T b) {
  if (b == 0) return (T)0;
  if (is_minus_one(b)) return negative(a);
  const T quotient = (T)(a / b);
  const bool is_above = (T)(a % b) != 0 && is_negative(a) != is_negative(b);
  return is_above ? (T)(WIDE(quotient) - 1) : quotient;
}
INLINE f64 fmod(f64 a, f64 b) { return ::fmod(a, b); }
INLINE f64 remainder(f64 a, f64 b) {
  const f64 rest = ::fmod(a, b);
  if (rest == 0) return ::copysign(rest, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
INLINE f64 floor_divide(f64 a, f64 b) {
  if (b == 0) return a / b;
  const f64 rest = ::fmod(a, b);
  f64 quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return ::copysign(0.0, a / b);
  const f64 whole = ::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}
INLINE f32 fmod(f32 a, f32 b) { return ::fmodf(a, b); }
INLINE f32 remainder(f32 a, f32 b) { return (f32)remainder((f64)a, (f64)b); }
INLINE f32 floor_divide(f32 a, f32 b) { return (f32)floor_divide((f64)a, (f64)b); }

// By repeated squaring. A negative exponent gives the integer part of the fraction.
template <class T> INLINE T power(T base, T exponent) {
  if (is_negative(exponent)) {
    const T of_minus_one = (exponent & 1) != 0 ? (T)-1 : (T)1;
    return base == 1 ? (T)1 : is_minus_one(base) ? of_minus_one : (T)0;
  }
  typename Unsigned<T>::Type result = 1, square = WIDE(base);
  for (typename Unsigned<T>::Type rest = WIDE(exponent); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= square;
    square *= square;
  }
  return (T)result;
}
template <class T> INLINE u64 magnitude(T a) { return is_negative(a) ? (u64)0 - (u64)a : (u64)a; }
INLINE u64 common_divisor(u64 a, u64 b) {
  while (b != 0) {
    const u64 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}
template <class T> INLINE T gcd(T a, T b) { return (T)common_divisor(magnitude(a), magnitude(b)); }
template <class T> INLINE T lcm(T a, T b) {
  if (a == 0 || b == 0) return (T)0;
  return (T)(magnitude(a) / common_divisor(magnitude(a), magnitude(b)) * magnitude(b));
}

// ---- Bits. A negative shift is a huge unsigned one.

template <class T> INLINE T bitwise_and(T a, T b) { return (T)(a & b); }
template <class T> INLINE T bitwise_or(T a, T b) { return (T)(a | b); }
template <class T> INLINE T bitwise_xor(T a, T b) { return (T)(a ^ b); }
template <class T> INLINE T bitwise_not(T a) { return (T)~a; }
INLINE bool bitwise_not(bool a) { return !a; }
INLINE bool logical_not(bool a) { return !a; }
template <class T> INLINE T left_shift(T a, T b) {
  return !is_negative(b) && (u64)b < 8 * sizeof(T) ? (T)(WIDE(a) << (int)b) : (T)0;
}
template <class T> INLINE T right_shift(T a, T b) {
  const bool fits = !is_negative(b) && (u64)b < 8 * sizeof(T);
  if (fits) return (T)(a >> (int)b);
  return is_negative(a) ? (T)-1 : (T)0;
}

// ---- Kinds of numbers.

template <class T> INLINE bool is_nan(T) { return false; }
template <class T> INLINE bool is_infinite(T) { return false; }
template <class T> INLINE bool is_finite(T) { return true; }
#define FLOAT(T) \
  INLINE bool is_nan(T a) { return a != a; } \
  INLINE bool is_finite(T a) { return a - a == 0; } \
  INLINE bool is_infinite(T a) { return a == a && a - a != 0; }
EACH_FLOAT(FLOAT)
#undef FLOAT
#define COMPLEX(C, T) \
  INLINE bool is_nan(C a) { return is_nan(a.re) || is_nan(a.im); } \
  INLINE bool is_infinite(C a) { return is_infinite(a.re) || is_infinite(a.im); } \
  INLINE bool is_finite(C a) { return is_finite(a.re) && is_finite(a.im); }
EACH_COMPLEX(COMPLEX)
#undef COMPLEX

// The codes of positive numbers have the same order as the numbers. `last` is that of the largest.
template <class Bits> INLINE Bits next_code(Bits a, Bits b, Bits last) {
  const Bits sign = (Bits)((Bits)1 << (8 * sizeof(Bits) - 1)), magnitudes = (Bits)~sign;
  const Bits size_a = (Bits)(a & magnitudes), size_b = (Bits)(b & magnitudes);
  if (size_a > last) return a;  // NaN
  if (size_b > last || a == b || (size_a == 0 && size_b == 0)) return b;
  if (size_a == 0) return (Bits)((b & sign) | 1);
  const bool outwards = (a & sign) == (b & sign) && size_b > size_a;
  return (Bits)(outwards ? a + 1 : a - 1);
}
template <class T> struct NextAfter;
template <> struct NextAfter<f64> {
  static INLINE f64 of(f64 a, f64 b) { return double_of(next_code<u64>(bits_of(a), bits_of(b), 0x7ff0000000000000ull)); }
};
template <> struct NextAfter<f32> {
  static INLINE f32 of(f32 a, f32 b) { return single_of(next_code<u32>(bits_of(a), bits_of(b), 0x7f800000u)); }
};
#define NARROW(T, Bits, last) \
  template <> struct NextAfter<T> { \
    static INLINE f32 of(f32 a, f32 b) { \
      T next; \
      next.bits = next_code<Bits>(Memory<T>::write(a).bits, Memory<T>::write(b).bits, last); \
      return widened(next); \
    } \
  };
NARROW(f16, u16, 0x7c00) NARROW(bf16, u16, 0x7f80) NARROW(f8e4m3, u8, 0x7e) NARROW(f8e5m2, u8, 0x7c)
#undef NARROW
template <class T, class V> INLINE V nextafter(V a, V b) { return NextAfter<T>::of(a, b); }

}  // namespace op
)cuda"
