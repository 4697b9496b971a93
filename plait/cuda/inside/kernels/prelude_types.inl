R"cuda(
// Element types in memory, by the names of Plait's dtypes.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
struct boolean { u8 byte; };
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct f8e4m3 { u8 bits; };
struct f8e5m2 { u8 bits; };
struct alignas(8) c64 { f32 re, im; };
struct alignas(16) c128 { f64 re, im; };
struct alignas(16) key { u64 high, low; };

#define INLINE __device__ __forceinline__

INLINE u32 bits_of(f32 x) { return __float_as_uint(x); }
INLINE u64 bits_of(f64 x) { return (u64)__double_as_longlong(x); }
INLINE f32 single_of(u32 bits) { return __uint_as_float(bits); }
INLINE f64 double_of(u64 bits) { return __longlong_as_double((i64)bits); }

// ---- Narrow floats are computed in f32.

// A format of float with kExponent and kMantissa bits; without infinity, all ones is its NaN.
template <int kExponent, int kMantissa, bool kHasInfinity> struct Narrow {
  static constexpr int kBias = (1 << (kExponent - 1)) - 1, kDropped = 23 - kMantissa;
  static constexpr int kBits = 1 + kExponent + kMantissa;
  static constexpr u32 kMagnitudes = (1u << (kBits - 1)) - 1, kMantissas = (1u << kMantissa) - 1;
  static constexpr u32 kPastMax = kHasInfinity ? kMagnitudes & ~kMantissas : kMagnitudes;

  // Read as an f32, the bias is wrong; a multiplication corrects it, also for subnormal numbers.
  static INLINE f32 widened(u32 code) {
    const u32 magnitude = code & kMagnitudes, sign = (code & ~kMagnitudes) << (32 - kBits);
    u32 bits = bits_of(single_of(magnitude << kDropped) * single_of((u32)(254 - kBias) << 23));
    if (magnitude >= kPastMax) bits |= 0x7f800000u;
    return single_of(bits | sign);
  }
  // To nearest, ties to even.
  static INLINE u32 narrowed(f32 x) {
    const u32 word = bits_of(x), magnitude = word & 0x7fffffffu;
    const u32 odd = magnitude >> kDropped & 1;
    u32 code = ((magnitude + (1u << (kDropped - 1)) - 1 + odd) >> kDropped) - ((u32)(127 - kBias) << kMantissa);
    // Adding a number whose last bit is the smallest subnormal makes f32 round at that bit.
    const u32 unit = (u32)(151 - kBias - kMantissa) << 23;
    if (magnitude < (u32)(128 - kBias) << 23) code = bits_of(single_of(magnitude) + single_of(unit)) - unit;
    if (magnitude >= (u32)(129 + kBias) << 23 || code > kPastMax) code = kPastMax;
    if (magnitude > 0x7f800000u)
      code = kPastMax | 1u << (kMantissa - 1) | (magnitude >> kDropped & kMantissas);
    return code | (word >> (32 - kBits) & ~kMagnitudes);
  }
};

INLINE f32 widened(f16 x) { return Narrow<5, 10, true>::widened(x.bits); }
INLINE f32 widened(bf16 x) { return single_of((u32)x.bits << 16); }
INLINE f32 widened(f8e4m3 x) { return Narrow<4, 3, false>::widened(x.bits); }
INLINE f32 widened(f8e5m2 x) { return Narrow<5, 2, true>::widened(x.bits); }

// ---- Memory<T>::read and write: between memory and what is computed with.

template <class T> struct Memory {
  typedef T Value;
  static INLINE T read(T x) { return x; }
  static INLINE T write(T x) { return x; }
};
template <> struct Memory<boolean> {
  typedef bool Value;
  static INLINE bool read(boolean x) { return x.byte != 0; }
  static INLINE boolean write(bool x) { return boolean{(u8)(x ? 1 : 0)}; }
};
template <class T> struct NarrowMemory {
  typedef f32 Value;
  static INLINE f32 read(T x) { return widened(x); }
};
template <> struct Memory<f16> : NarrowMemory<f16> {
  static INLINE f16 write(f32 x) { return f16{(u16)Narrow<5, 10, true>::narrowed(x)}; }
};
template <> struct Memory<bf16> : NarrowMemory<bf16> {
  static INLINE bf16 write(f32 x) {
    const u32 bits = bits_of(x), rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return bf16{(u16)(x == x ? rounded : bits >> 16 | 0x40u)};
  }
};
template <> struct Memory<f8e4m3> : NarrowMemory<f8e4m3> {
  static INLINE f8e4m3 write(f32 x) { return f8e4m3{(u8)Narrow<4, 3, false>::narrowed(x)}; }
};
template <> struct Memory<f8e5m2> : NarrowMemory<f8e5m2> {
  static INLINE f8e5m2 write(f32 x) { return f8e5m2{(u8)Narrow<5, 2, true>::narrowed(x)}; }
};
template <class T> INLINE typename Memory<T>::Value read(T x) { return Memory<T>::read(x); }

// Elements that are moved in one access of 16 bytes.
template <class T> struct alignas(16) Pack {
  static constexpr int kCount = 16 / sizeof(T);
  T at[16 / sizeof(T)];
};

// ---- Conversions: convert<To>(x) gives To's value, rounded to To.

// Rounds to odd, so that rounding again to a narrower format gives what rounding once does.
INLINE f32 sticky_float(f64 x) {
  const f32 rounded = (f32)x;
  const f64 again = (f64)rounded;
  u32 bits = bits_of(rounded);
  bits -= fabs(again) > fabs(x) ? 1u : 0u;
  bits |= again != x ? 1u : 0u;
  return single_of(bits);
}
// At most 53 significant bits, of which the last one is sticky.
INLINE f64 sticky_double(u64 size) {
  if (size >> 53) size = (size & ~(u64)0x7ff) | ((size & 0x7ff) != 0 ? 0x800 : 0);
  return (f64)size;
}
INLINE f32 to_be_narrowed(bool x) { return x ? 1.f : 0.f; }
INLINE f32 to_be_narrowed(f32 x) { return x; }
INLINE f32 to_be_narrowed(f64 x) { return sticky_float(x); }
INLINE f32 to_be_narrowed(i8 x) { return (f32)x; }
INLINE f32 to_be_narrowed(u8 x) { return (f32)x; }
INLINE f32 to_be_narrowed(i16 x) { return (f32)x; }
INLINE f32 to_be_narrowed(u16 x) { return (f32)x; }
INLINE f32 to_be_narrowed(i32 x) { return sticky_float((f64)x); }
INLINE f32 to_be_narrowed(u32 x) { return sticky_float((f64)x); }
INLINE f32 to_be_narrowed(i64 x) {
  const f64 size = sticky_double(x < 0 ? (u64)0 - (u64)x : (u64)x);
  return sticky_float(x < 0 ? -size : size);
}
INLINE f32 to_be_narrowed(u64 x) { return sticky_float(sticky_double(x)); }

// From floats, integers saturate, and NaN becomes 0. `first` is the first number that is too large.
template <class To, class From> INLINE To saturated(From x, To least, To most, From first) {
  if (!(x == x)) return (To)0;
  if (x >= first) return most;
  return x <= (From)least ? least : (To)x;
}
template <class T> struct Limits;
#define LIMITS(type, least, most, first) \
  template <> struct Limits<type> { \
    template <class From> static INLINE type of(From x) { return saturated<type, From>(x, least, most, (From)(first)); } \
  };
LIMITS(i8, -128, 127, 128) LIMITS(u8, 0, 255, 256) LIMITS(i16, -32768, 32767, 32768) LIMITS(u16, 0, 65535, 65536)
LIMITS(i32, -2147483647 - 1, 2147483647, 2147483648.) LIMITS(u32, 0u, 4294967295u, 4294967296.)
LIMITS(i64, -9223372036854775807ll - 1, 9223372036854775807ll, 9223372036854775808.)
LIMITS(u64, 0ull, 18446744073709551615ull, 18446744073709551616.)
#undef LIMITS

template <class To> struct Convert {  // integers
  template <class From> static INLINE To of(From x) { return (To)x; }
  static INLINE To of(f32 x) { return Limits<To>::of(x); }
  static INLINE To of(f64 x) { return Limits<To>::of(x); }
  static INLINE To of(c64 x) { return Limits<To>::of(x.re); }
  static INLINE To of(c128 x) { return Limits<To>::of(x.re); }
};
template <> struct Convert<boolean> {
  template <class From> static INLINE bool of(From x) { return x != (From)0; }
  static INLINE bool of(c64 x) { return x.re != 0 || x.im != 0; }
  static INLINE bool of(c128 x) { return x.re != 0 || x.im != 0; }
};
template <class To> struct ConvertReal {
  template <class From> static INLINE To of(From x) { return (To)x; }
  static INLINE To of(c64 x) { return (To)x.re; }
  static INLINE To of(c128 x) { return (To)x.re; }
};
template <> struct Convert<f32> : ConvertReal<f32> {};
template <> struct Convert<f64> : ConvertReal<f64> {};
template <class To> struct ConvertNarrow {
  template <class From> static INLINE f32 of(From x) { return widened(Memory<To>::write(to_be_narrowed(x))); }
  static INLINE f32 of(c64 x) { return of(x.re); }
  static INLINE f32 of(c128 x) { return of(x.re); }
};
template <> struct Convert<f16> : ConvertNarrow<f16> {};
template <> struct Convert<bf16> : ConvertNarrow<bf16> {};
template <> struct Convert<f8e4m3> : ConvertNarrow<f8e4m3> {};
template <> struct Convert<f8e5m2> : ConvertNarrow<f8e5m2> {};
template <class To, class Part> struct ConvertComplex {
  template <class From> static INLINE To of(From x) { return To{(Part)x, (Part)0}; }
  static INLINE To of(c64 x) { return To{(Part)x.re, (Part)x.im}; }
  static INLINE To of(c128 x) { return To{(Part)x.re, (Part)x.im}; }
};
template <> struct Convert<c64> : ConvertComplex<c64, f32> {};
template <> struct Convert<c128> : ConvertComplex<c128, f64> {};
template <> struct Convert<key> {
  static INLINE key of(key x) { return x; }
};
template <class To, class From> INLINE typename Memory<To>::Value convert(From x) { return Convert<To>::of(x); }
)cuda"
