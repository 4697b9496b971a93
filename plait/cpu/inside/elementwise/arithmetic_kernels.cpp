// Arithmetic, comparisons and selection: plain loops, which the compiler vectorises for each level.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/elementwise/arithmetic_kernels.cpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "plait/cpu/inside/elementwise/dense_loops.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

// Integers are computed as unsigned ones of at least 32 bits: these wrap, and are not promoted to
// signed integers.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>,
                                std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>, T>;

// Operations that do not depend on the sign are compiled for unsigned integers only.
template <class T>
using Unsigned = typename std::conditional_t<std::is_integral_v<T> && !std::is_same_v<T, bool>,
                                             std::make_unsigned<T>, std::type_identity<T>>::type;

template <class T>
bool is_nan(T a) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isunordered(a, a);
  } else {
    return false;
  }
}

struct Add {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(Wide<T>(a) + Wide<T>(b));
  }
};
struct Subtract {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(Wide<T>(a) - Wide<T>(b));
  }
};
struct Multiply {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(Wide<T>(a) * Wide<T>(b));
  }
};
struct Divide {
  template <class T>
  static T of(T a, T b) {
    return a / b;
  }
};
// Truncated quotient, and remainder. There is no vector instruction for integer division, so the
// quotient is computed in a float type that holds both operands exactly; fractions differ from
// integers by more than its rounding error.
template <class T>
struct Division {
  T divisor, quotient, rest;

  // Division by 0 or -1 may trap or overflow; it is replaced by a division by 1.
  Division(T a, T b) {
    const bool is_minus_one = std::is_signed_v<T> && b == static_cast<T>(-1);
    const bool is_safe = !((b == 0) | is_minus_one);
    divisor = is_safe ? b : T{1};
    if constexpr (sizeof(T) == 8) {
      quotient = a / divisor;
    } else {
      using Real = std::conditional_t<sizeof(T) == 4, double, float>;
      using Whole = std::conditional_t<sizeof(T) == 4, T, int32_t>;
      quotient =
          static_cast<T>(static_cast<Whole>(static_cast<Real>(a) / static_cast<Real>(divisor)));
    }
    rest = static_cast<T>(Wide<T>(a) - Wide<T>(quotient) * Wide<T>(divisor));
  }
};
// The quotient is rounded down; the remainder has the sign of the divisor.
struct FloorDivide {
  template <class T>
  static T of(T a, T b) {
    const Division<T> division(a, b);
    T result = division.quotient;
    if constexpr (std::is_signed_v<T>) {
      const bool is_above = (division.rest != 0) & ((a < 0) != (division.divisor < 0));
      result = static_cast<T>(Wide<T>(result) - Wide<T>(is_above));
      result = b == -1 ? static_cast<T>(Wide<T>(0) - Wide<T>(a)) : result;
    }
    return b == 0 ? T{0} : result;
  }
};
struct Fmod {
  template <class T>
  static T of(T a, T b) {
    const T rest = Division<T>(a, b).rest;
    return b == 0 ? T{0} : rest;
  }
};
struct Remainder {
  template <class T>
  static T of(T a, T b) {
    const T rest = Fmod::of(a, b);
    if constexpr (std::is_signed_v<T>) {
      // As a mask, since GCC does not vectorise the conditional.
      const bool is_other = (rest != 0) & ((rest < 0) != (b < 0));
      return static_cast<T>(Wide<T>(rest) + (Wide<T>(b) & (0 - Wide<T>(is_other))));
    } else {
      return rest;
    }
  }
};
// A NaN beats every number.
struct Maximum {
  template <class T>
  static T of(T a, T b) {
    const bool takes_a = (a >= b) | is_nan(a);
    return takes_a ? a : b;
  }
};
struct Minimum {
  template <class T>
  static T of(T a, T b) {
    const bool takes_a = (a <= b) | is_nan(a);
    return takes_a ? a : b;
  }
};
// minimum(maximum(x, low), high), in a form that GCC vectorises.
struct Clamp {
  template <class T>
  static T of(T low, T x, T high) {
    T result = x < low ? low : x;
    result = result > high ? high : result;
    result = is_nan(low) ? low : result;
    return is_nan(high) ? high : result;
  }
};
struct Select {
  template <class T>
  static T of(uint8_t condition, T a, T b) {
    return condition != 0 ? a : b;
  }
};

struct Equal {
  template <class T>
  static bool of(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  static bool of(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <class T>
  static bool of(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  static bool of(T a, T b) {
    return a <= b;
  }
};

struct BitwiseAnd {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitwiseOr {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitwiseXor {
  template <class T>
  static T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct BitwiseNot {
  template <class T>
  static T of(T a) {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  static uint8_t of(uint8_t a) { return a ^ 1; }
};
// A negative shift is a huge unsigned one.
struct LeftShift {
  template <class T>
  static T of(T a, T b) {
    constexpr T kBits = 8 * sizeof(T);
    return b < kBits ? static_cast<T>(Wide<T>(a) << b) : T{0};
  }
};
struct RightShift {
  template <class T>
  static T of(T a, T b) {
    constexpr int kBits = 8 * sizeof(T);
    const bool fits = static_cast<Unsigned<T>>(b) < kBits;
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(a >> (fits ? b : T{kBits - 1}));
    } else {
      return fits ? static_cast<T>(a >> b) : T{0};
    }
  }
};

struct Negative {
  template <class T>
  static T of(T a) {
    if constexpr (std::is_floating_point_v<T>) return -a;
    return static_cast<T>(Wide<T>(0) - Wide<T>(a));
  }
};
struct Absolute {
  template <class T>
  static T of(T a) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::abs(a);
    } else {
      return a < 0 ? Negative::of(a) : a;
    }
  }
};
struct Relu {
  template <class T>
  static T of(T a) {
    return a < 0 ? T(0) : a;  // NaN propagates
  }
};
struct Sign {
  template <class T>
  static T of(T a) {
    const T sign = static_cast<T>((a > 0) - (a < 0));
    return is_nan(a) ? a : sign;
  }
};
struct Square {
  template <class T>
  static T of(T a) {
    return Multiply::of(a, a);
  }
};
struct Reciprocal {
  template <class T>
  static T of(T a) {
    return 1 / a;
  }
};

struct Floor {
  template <class T>
  static T of(T a) {
    return std::floor(a);
  }
};
struct Ceil {
  template <class T>
  static T of(T a) {
    return std::ceil(a);
  }
};
struct Trunc {
  template <class T>
  static T of(T a) {
    return std::trunc(a);
  }
};
// Rounds halves to even, in the default rounding mode.
struct Round {
  template <class T>
  static T of(T a) {
    return std::nearbyint(a);
  }
};

struct IsNan {
  template <class T>
  static bool of(T a) {
    return is_nan(a);
  }
};
struct IsInfinite {
  template <class T>
  static bool of(T a) {
    return std::abs(a) == std::numeric_limits<T>::infinity();
  }
};
struct IsFinite {
  template <class T>
  static bool of(T a) {
    return std::abs(a) < std::numeric_limits<T>::infinity();
  }
};

// Joins a magnitude and a sign, in bits.
struct CopySign {
  template <class T>
  static T of(T magnitude, T sign) {
    return std::copysign(magnitude, sign);
  }
};

// Changes the sign bit of f16 and bf16 without conversion.
constexpr uint16_t kSignOfHalf = 0x8000;
struct NegativeHalf {
  static uint16_t of(uint16_t a) { return a ^ kSignOfHalf; }
};
struct AbsoluteHalf {
  static uint16_t of(uint16_t a) { return a & static_cast<uint16_t>(~kSignOfHalf); }
};
struct CopySignOfHalf {
  static uint16_t of(uint16_t magnitude, uint16_t sign) {
    return static_cast<uint16_t>(AbsoluteHalf::of(magnitude) | (sign & kSignOfHalf));
  }
};

// By repeated squaring, block by block, up to the greatest exponent of the block. A negative
// exponent gives the integer part of the fraction.
template <class T>
void power_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  constexpr int64_t kBlock = 256;
  const auto* bases = reinterpret_cast<const T*>(in[0]);
  const auto* exponents = reinterpret_cast<const T*>(in[1]);
  auto* to = reinterpret_cast<T*>(out);
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t some = std::min(kBlock, count - first);
    Wide<T> powers[kBlock], squares[kBlock], rests[kBlock];
    Wide<T> all = 0;
    for (int64_t i = 0; i < some; ++i) {
      const T exponent = exponents[first + i];
      powers[i] = 1;
      squares[i] = static_cast<Wide<T>>(bases[first + i]);
      rests[i] = exponent < 0 ? Wide<T>{0} : static_cast<Wide<T>>(exponent);
      all |= rests[i];
    }
    for (; all != 0; all >>= 1) {
      for (int64_t i = 0; i < some; ++i) {
        powers[i] *= (rests[i] & 1) != 0 ? squares[i] : Wide<T>{1};
        squares[i] *= squares[i];
        rests[i] >>= 1;
      }
    }
    for (int64_t i = 0; i < some; ++i) {
      const T base = bases[first + i], exponent = exponents[first + i];
      T power = static_cast<T>(powers[i]);
      if constexpr (std::is_signed_v<T>) {
        const T of_minus_one = (exponent & 1) != 0 ? T{-1} : T{1};
        const T fraction = base == 1 ? T{1} : base == -1 ? of_minus_one : T{0};
        power = exponent < 0 ? fraction : power;
      }
      to[first + i] = power;
    }
  }
}

void fill(std::byte* out, int64_t count, uint8_t value) {
  auto* to = reinterpret_cast<uint8_t*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = value;
}
void all_false(std::byte* out, const std::byte* const*, int64_t count) { fill(out, count, 0); }
void all_true(std::byte* out, const std::byte* const*, int64_t count) { fill(out, count, 1); }

template <class Op, class T>
void add_unary(Kernels& kernels, std::string_view op, DType dtype = kDTypeOf<T>) {
  kernels.push_back({op, dtype, dtype, 1, unary_loop<Op, T, T>});
}
template <class Op, class T>
void add_binary(Kernels& kernels, std::string_view op, DType dtype = kDTypeOf<T>) {
  kernels.push_back({op, dtype, dtype, 2, binary_loop<Op, T, T>});
}
template <class Op, class T>
void add_test(Kernels& kernels, std::string_view op, DType dtype = kDTypeOf<T>) {
  kernels.push_back({op, dtype, DType::boolean, 1, unary_loop<Op, uint8_t, T>});
}
template <class Op, class T>
void add_comparison(Kernels& kernels, std::string_view op, DType dtype = kDTypeOf<T>) {
  kernels.push_back({op, dtype, DType::boolean, 2, binary_loop<Op, uint8_t, T>});
}
template <class T>
void add_select(Kernels& kernels, DType dtype) {
  kernels.push_back({"select", dtype, dtype, 3, ternary_loop<Select, T, uint8_t, T>});
}
template <class T>
void add_clamp(Kernels& kernels) {
  kernels.push_back({"clamp", kDTypeOf<T>, kDTypeOf<T>, 3, ternary_loop<Clamp, T, T, T>});
}

// Operations of all real dtypes; bool is a u8 here.
template <class T>
void add_ordered(Kernels& kernels, DType dtype) {
  using Bits = Unsigned<T>;
  add_comparison<Equal, Bits>(kernels, "equal", dtype);
  add_comparison<NotEqual, Bits>(kernels, "not_equal", dtype);
  add_comparison<Less, T>(kernels, "less", dtype);
  add_comparison<LessEqual, T>(kernels, "less_equal", dtype);
  add_binary<Maximum, T>(kernels, "maximum", dtype);
  add_binary<Minimum, T>(kernels, "minimum", dtype);
}

template <class T>
void add_number(Kernels& kernels) {
  constexpr DType kDType = kDTypeOf<T>;
  using Bits = Unsigned<T>;
  add_ordered<T>(kernels, kDType);
  add_unary<Negative, Bits>(kernels, "negative", kDType);
  add_unary<Absolute, T>(kernels, "absolute");
  add_unary<Sign, T>(kernels, "sign");
  add_unary<Relu, T>(kernels, "relu");
  add_unary<Square, Bits>(kernels, "square", kDType);
  add_binary<Add, Bits>(kernels, "add", kDType);
  add_binary<Subtract, Bits>(kernels, "subtract", kDType);
  add_binary<Multiply, Bits>(kernels, "multiply", kDType);
  add_clamp<T>(kernels);
}

template <class T>
void add_float(Kernels& kernels) {
  add_number<T>(kernels);
  add_binary<Divide, T>(kernels, "divide");
  add_binary<CopySign, T>(kernels, "copysign");
  add_unary<Reciprocal, T>(kernels, "reciprocal");
  add_unary<Floor, T>(kernels, "floor");
  add_unary<Ceil, T>(kernels, "ceil");
  add_unary<Trunc, T>(kernels, "trunc");
  add_unary<Round, T>(kernels, "round");
  add_test<IsNan, T>(kernels, "is_nan");
  add_test<IsInfinite, T>(kernels, "is_infinite");
  add_test<IsFinite, T>(kernels, "is_finite");
}

template <class T>
void add_bits(Kernels& kernels, DType dtype) {
  add_binary<BitwiseAnd, T>(kernels, "bitwise_and", dtype);
  add_binary<BitwiseOr, T>(kernels, "bitwise_or", dtype);
  add_binary<BitwiseXor, T>(kernels, "bitwise_xor", dtype);
}

template <class T>
void add_integer(Kernels& kernels) {
  constexpr DType kDType = kDTypeOf<T>;
  using Bits = Unsigned<T>;
  add_number<T>(kernels);
  add_bits<Bits>(kernels, kDType);
  add_select<Bits>(kernels, kDType);
  add_unary<BitwiseNot, Bits>(kernels, "bitwise_not", kDType);
  add_binary<LeftShift, Bits>(kernels, "left_shift", kDType);
  add_binary<RightShift, T>(kernels, "right_shift");
  add_binary<FloorDivide, T>(kernels, "floor_divide");
  add_binary<Remainder, T>(kernels, "remainder");
  add_binary<Fmod, T>(kernels, "fmod");
  kernels.push_back({"power", kDType, kDType, 2, power_loop<T>});
  kernels.push_back({"is_nan", kDType, DType::boolean, 1, all_false});
  kernels.push_back({"is_infinite", kDType, DType::boolean, 1, all_false});
  kernels.push_back({"is_finite", kDType, DType::boolean, 1, all_true});
}

void add_boolean(Kernels& kernels) {
  add_ordered<uint8_t>(kernels, DType::boolean);
  add_bits<uint8_t>(kernels, DType::boolean);
  add_binary<BitwiseOr, uint8_t>(kernels, "add", DType::boolean);
  add_binary<BitwiseAnd, uint8_t>(kernels, "multiply", DType::boolean);
  add_unary<LogicalNot, uint8_t>(kernels, "bitwise_not", DType::boolean);
  add_unary<LogicalNot, uint8_t>(kernels, "logical_not", DType::boolean);
}

void add_signs_of_halves(Kernels& kernels) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    add_unary<NegativeHalf, uint16_t>(kernels, "negative", dtype);
    add_unary<AbsoluteHalf, uint16_t>(kernels, "absolute", dtype);
    add_binary<CopySignOfHalf, uint16_t>(kernels, "copysign", dtype);
  }
}

// For dtypes other than integers, as raw bits.
void add_selects(Kernels& kernels) {
  for (const DType dtype : {DType::boolean, DType::f8e4m3, DType::f8e5m2}) {
    add_select<uint8_t>(kernels, dtype);
  }
  for (const DType dtype : {DType::f16, DType::bf16}) add_select<uint16_t>(kernels, dtype);
  add_select<uint32_t>(kernels, DType::f32);
  for (const DType dtype : {DType::f64, DType::c64}) add_select<uint64_t>(kernels, dtype);
}

}  // namespace

void add_arithmetic_kernels(Kernels& kernels) {
  add_float<float>(kernels);
  add_float<double>(kernels);
  add_integer<int8_t>(kernels);
  add_integer<int16_t>(kernels);
  add_integer<int32_t>(kernels);
  add_integer<int64_t>(kernels);
  add_integer<uint8_t>(kernels);
  add_integer<uint16_t>(kernels);
  add_integer<uint32_t>(kernels);
  add_integer<uint64_t>(kernels);
  add_boolean(kernels);
  add_signs_of_halves(kernels);
  add_selects(kernels);
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<Kernels> kArithmeticKernels = {PLAIT_EACH_LEVEL(add_arithmetic_kernels)};

}  // namespace plait::cpu
#endif
