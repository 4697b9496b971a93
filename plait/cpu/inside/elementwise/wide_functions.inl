// Functions of f64 in lanes of f64, within 2 ulp whether or not products and sums are fused:
// exponentials and logarithms; others are in wide_angles.inl and wide_powers.inl. Polynomials are
// minimax fits on their ranges. Parts of constants have so few bits that their products with
// integers are exact.
#include <array>

#include "plait/cpu/inside/elementwise/single_functions.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace wide {

using Bits = hn::Vec<DBits>;

constexpr double kLn2High = 0x1.62e42fefa38p-1, kLn2Low = 0x1.ef35793c7673p-45;

HWY_INLINE V from_bits(Bits x) { return hn::BitCast(D(), x); }
// The upper 26 bits of x, so that products of two such numbers are exact.
HWY_INLINE V high_half(V x) { return from_bits(bits_of(x) & bit_constant(0xfffffffff8000000)); }

// Σ c[i] x^i, with even and odd powers summed separately, which halves the dependency chain.
template <size_t n>
HWY_INLINE V polynomial(V x, const std::array<double, n>& c) {
  const V square = x * x;
  V last = constant(c[n - 1]), other = constant(c[n - 2]);
  for (size_t i = n - 2; i-- > 0;) {
    const V sum = hn::MulAdd(last, square, constant(c[i]));
    last = other;
    other = sum;
  }
  return hn::MulAdd(last, x, other);
}

// a - b q, for q close to a / b.
HWY_INLINE V rest_of_division(V a, V b, V q) {
  const V b_high = high_half(b), q_high = high_half(q);
  const V rest = hn::NegMulAdd(q_high, b - b_high, hn::NegMulAdd(q_high, b_high, a));
  return hn::NegMulAdd(q - q_high, b, rest);
}

// ---- Exponentials: x = n ln 2 + r + rest, |r| <= ln(2) / 2.

struct Reduced {
  V r, rest, n;
  Bits bits;  // n in the low eleven
};
// For x + beyond, where x has so few bits that x - n ln 2 is exact.
HWY_INLINE Reduced reduced(V x, V beyond) {
  const V sum = hn::MulAdd(x, constant(1 / kLn2), constant(kRounder));
  const V n = sum - constant(kRounder);
  const V high = hn::NegMulAdd(n, constant(kLn2High), x);
  const V low = hn::NegMulAdd(n, constant(kLn2Low), beyond);
  const V r = high + low;
  return {r, (high - r) + low, n, bits_of(sum)};
}
HWY_INLINE Reduced reduced(V x) { return reduced(x, constant(0)); }

// e^(r + rest) - 1 - r.
HWY_INLINE V expm1_beyond(V r, V rest) {
  constexpr std::array<double, 11> kSeries = {0.5,
                                              0.1666666666666667,
                                              0.041666666666666685,
                                              0.008333333333326134,
                                              0.0013888888888874398,
                                              0.0001984126987482399,
                                              2.480158734733946e-05,
                                              2.7557255396471253e-06,
                                              2.7557252912473136e-07,
                                              2.5105218386541962e-08,
                                              2.092158937073939e-09};
  return hn::MulAdd(r * r, polynomial(r, kSeries), rest);
}
HWY_INLINE V small_expm1(V r, V rest) { return r + expm1_beyond(r, rest); }
HWY_INLINE V small_expm1(const Reduced& x) { return small_expm1(x.r, x.rest); }

// 2^(n + more), which must be a normal number.
HWY_INLINE V power_of_two(const Reduced& x, int more = 0) {
  return from_bits(hn::ShiftLeft<52>(x.bits + bit_constant(static_cast<uint64_t>(1023 + more))));
}
// y 2^(n - less), in two steps, since 2^n may overflow or underflow.
HWY_INLINE V scaled(V y, Bits n, uint64_t less = 0) {
  const Bits half = hn::ShiftRight<1>(n + bit_constant(2048));  // and 1024 more
  const V first = from_bits(hn::ShiftLeft<52>(half - bit_constant(1)));
  const V second = from_bits(hn::ShiftLeft<52>(n + bit_constant(2047 - less) - half));
  return y * first * second;
}
// e^x 2^-less for x from -750 to 720.
HWY_INLINE V exp_of_clamped(V x, uint64_t less = 0) {
  const Reduced y = reduced(x);
  return scaled(small_expm1(y) + constant(1), y.bits, less);
}

struct Exp {
  static HWY_INLINE V of(D, V x) { return or_nan(x, exp_of_clamped(clamped(x, -746, 710))); }
};

struct Exp2 {
  static HWY_INLINE V of(D, V x) {
    const V near = clamped(x, -1076, 1025);
    const V sum = near + constant(kRounder);
    const V r = (near - (sum - constant(kRounder))) * constant(kLn2);
    return or_nan(x, scaled(small_expm1(r, constant(0)) + constant(1), bits_of(sum)));
  }
};

struct Expm1 {
  static HWY_INLINE V of(D, V x) {
    const Reduced y = reduced(clamped(x, -38, 710));
    const V beyond = expm1_beyond(y.r, y.rest);
    const V half = power_of_two(y, -1);  // 2^1024 would overflow
    const V part = hn::MulAdd(half, y.r, half - constant(0.5));
    const V result = hn::MulAdd(half, beyond, part) * constant(2);
    return or_nan(x, hn::CopySign(hn::IfThenElse(y.n == constant(0), y.r + beyond, result), x));
  }
};

// 1 / (1 + e), times e for negative x. e = p (1 + t), where only t is rounded; p is scaled by 2^64,
// so that it is normal even if the result is not.
struct Sigmoid {
  static HWY_INLINE V of(D, V x) {
    const V one = constant(1), back = constant(0x1p-64);
    const Reduced y = reduced(constant(0) - hn::Min(hn::Abs(x), constant(746)));
    const V p = power_of_two(y, 64), t = small_expm1(y);
    const V e = hn::MulAdd(p, t, p) * back;
    const V sum = one + e;
    const V inverse = one / sum;
    const V lost = (e - (sum - one)) * inverse;
    const V above = hn::NegMulAdd(inverse, lost, inverse);
    const V below = hn::MulAdd(inverse * p, t - lost, inverse * p) * back;
    return or_nan(x, hn::IfThenElse(x < constant(0), below, above));
  }
};

struct Tanh {
  static HWY_INLINE V of(D, V x) {
    constexpr std::array<double, 12> kNear = {
        -0.3333333333333333,    0.13333333333333058,     -0.053968253967914555,
        0.0218694885197064,     -0.008863235117481839,   0.0035921219207118897,
        -0.0014557766710618601, 0.0005896666632878581,   -0.00023760905610214513,
        9.260619867861063e-05,  -3.1238798358185864e-05, 6.502680450249591e-06};
    const V size = hn::Abs(x), square = x * x;
    const V near = hn::MulAdd(size * square, polynomial(square, kNear), size);
    const V twice = hn::Min(size + size, constant(40));  // from there on the result is 1
    const Reduced y = reduced(twice);
    const V power = power_of_two(y);
    const V e = hn::MulAdd(small_expm1(y), power, power);
    const V far = constant(1) - constant(2) / (e + constant(1));
    return or_nan(x, hn::CopySign(hn::IfThenElse(size < constant(0.625), near, far), x));
  }
};

struct Sinh {
  static HWY_INLINE V of(D, V x) {
    constexpr std::array<double, 7> kNear = {0.16666666666666666,    0.008333333333333299,
                                             0.0001984126984132424,  2.7557319191363643e-06,
                                             2.5052117699412878e-08, 1.6057679312222796e-10,
                                             7.746188979486711e-13};
    const V size = hn::Abs(x), square = x * x;
    const V near = hn::MulAdd(size * square, polynomial(square, kNear), size);
    const V half = exp_of_clamped(hn::Min(size, constant(712)), 1);
    const V far = half - constant(0.25) / half;
    return or_nan(x, hn::CopySign(hn::IfThenElse(size < constant(1), near, far), x));
  }
};

struct Cosh {
  static HWY_INLINE V of(D, V x) {
    const V half = exp_of_clamped(hn::Min(hn::Abs(x), constant(712)), 1);
    return or_nan(x, half + constant(0.25) / half);
  }
};

// ---- Logarithms: x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).

// For a positive x.
HWY_INLINE Scaled scaled_also_subnormal(V x) {
  const auto tiny = x < constant(std::numeric_limits<double>::min());
  Scaled result = HWY_NAMESPACE::scaled(hn::IfThenElse(tiny, x * constant(0x1p54), x));
  result.k = result.k - hn::IfThenElse(tiny, constant(54), constant(0));
  return result;
}

// ln(1 + f) = f - f^2 / 2 + this.
HWY_INLINE V log_beyond_square(V f, V half_square) {
  constexpr std::array<double, 7> kSeries = {
      0.666666666666667,  0.39999999999898456, 0.2857142862639391, 0.22222211073668133,
      0.1818289316054154, 0.15331598847413894, 0.14617849754032855};
  const V s = f / (f + constant(2)), square = s * s;
  return s * hn::MulAdd(square, polynomial(square, kSeries), half_square);
}
// k ln 2 + ln(1 + f) + rest.
HWY_INLINE V log_of(V k, V f, V rest) {
  const V half_square = f * f * constant(0.5);
  const V beyond = (log_beyond_square(f, half_square) + rest) - half_square;
  return hn::MulAdd(k, constant(kLn2High), f + hn::MulAdd(k, constant(kLn2Low), beyond));
}

struct Log {
  static HWY_INLINE V of(D, V x) {
    const Scaled y = scaled_also_subnormal(x);
    return log_limits(x, log_of(y.k, y.m - constant(1), constant(0)));
  }
};

// Factors for logarithms to another base, in parts: that of ln x, and that of k ln 2.
struct Base {
  double e_high, e_low, two_high, two_low;
};
HWY_INLINE V log_of_base(V x, const Base& base) {
  const Scaled y = scaled_also_subnormal(x);
  const V f = y.m - constant(1), half_square = f * f * constant(0.5);
  const V high = high_half(f - half_square);
  const V low = ((f - high) - half_square) + log_beyond_square(f, half_square);
  const V first = high * constant(base.e_high);
  const V rest = hn::MulAdd(low + high, constant(base.e_low), low * constant(base.e_high));
  const V whole = y.k * constant(base.two_high);
  const V sum = whole + first;
  const V lost = (whole - sum) + first;
  return log_limits(x, sum + (lost + hn::MulAdd(y.k, constant(base.two_low), rest)));
}

struct Log2 {
  static HWY_INLINE V of(D, V x) {
    return log_of_base(x, {0x1.715476p0, 0x1.4ae0bf85ddf44p-26, 1, 0});
  }
};
struct Log10 {
  static HWY_INLINE V of(D, V x) {
    return log_of_base(
        x, {0x1.bcb7b1p-2, 0x1.49b9438ca9aaep-28, 0x1.34413509f78p-2, 0x1.fef311f12b358p-46});
  }
};

// k ln 2 + ln(1 + x + beyond) for x above -1. f is computed from x, as 2^-k x + (2^-k - 1), unless
// 1 + x is just as accurate. The inverse of 1 + f is approximately 1 - f + f^2.
HWY_INLINE V log1p_of(V x, V beyond, V k) {
  const V one = constant(1), sum = one + x;
  const Scaled y = HWY_NAMESPACE::scaled(sum);
  const V scale = from_bits(bit_constant(0x7fe0000000000000) - y.exponent);
  const V part = x * scale, less = scale - one;
  const V near = part + less;
  const auto is_near = sum < constant(0x1p53);
  const V f = hn::IfThenElse(is_near, near, y.m - one);
  const V lost = hn::MulAdd(beyond, scale, part - (near - less));
  const V share = lost * hn::NegMulAdd(f, one - f, one);
  const V rest = hn::IfThenElse(is_near, share, constant(0));
  return log_limits(sum, log_of(y.k + k, f, rest));
}
struct Log1p {
  static HWY_INLINE V of(D, V x) { return hn::CopySign(log1p_of(x, constant(0), constant(0)), x); }
};

// The larger operand plus ln(1 + e^-distance). Equal infinities have distance 0.
struct LogAddExp {
  static HWY_INLINE V of(D, V a, V b) {
    const V larger = hn::IfThenElse(a > b, a, b);
    const V distance = hn::IfThenElse(a == b, constant(0), hn::Abs(a - b));
    const V near = exp_of_clamped(constant(0) - hn::Min(distance, constant(746)));
    return or_nan(distance, larger + log1p_of(near, constant(0), constant(0)));
  }
};

// Squares of large numbers would overflow; for those it is ln x + ln 2.
HWY_INLINE V asinh_of(V size) {
  const V one = constant(1), zero = constant(0);
  const auto great = size > constant(0x1p500);
  const V square = size * size;
  const V more = square / (one + hn::Sqrt(square + one));
  const V sum = size + more;
  const V beyond = hn::IfThenElse(great, zero, (size - sum) + more);
  return log1p_of(hn::IfThenElse(great, size, sum), beyond, hn::IfThenElse(great, one, zero));
}
struct Asinh {
  static HWY_INLINE V of(D, V x) { return hn::CopySign(asinh_of(hn::Abs(x)), x); }
};
// cosh(2 y) = 1 + 2 sinh(y)^2
struct Acosh {
  static HWY_INLINE V of(D, V x) {
    const V y = asinh_of(hn::Sqrt((x - constant(1)) * constant(0.5)));
    return y + y;
  }
};
struct Atanh {
  static HWY_INLINE V of(D, V x) {
    const V one = constant(1), size = hn::Abs(x), twice = size + size;
    const V below = one - size, ratio = twice / below;
    const V lost =
        hn::NegMulAdd(ratio, (one - below) - size, rest_of_division(twice, below, ratio));
    const auto usual = hn::And(constant(0x1p-500) < size, size < one);
    const V beyond = hn::IfThenElse(usual, lost / below, constant(0));
    return hn::CopySign(log1p_of(ratio, beyond, constant(0)) * constant(0.5), x);
  }
};

}  // namespace wide
}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();
