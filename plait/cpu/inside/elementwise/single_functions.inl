// Functions of f32 in lanes of f32, within 2 ulp whether or not products and sums are fused.
// Arguments of polynomials are reduced first; coefficients are minimax fits, rounded to f32 one
// after another. Corrections are added before large terms are.
#include <array>
#include <limits>

#include "plait/cpu/inside/elementwise/double_functions.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace single {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DBits = hn::Rebind<uint32_t, D>;
using Bits = hn::Vec<DBits>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kRounder = 0x1.8p23F;  // as for f64
// High parts have so few bits that their products with exponents are exact.
constexpr float kLn2High = 0x1.62e4p-1F, kLn2Low = 0x1.7f7d1cp-20F;

HWY_INLINE V constant(float value) { return hn::Set(D(), value); }
HWY_INLINE Bits bits_of(V x) { return hn::BitCast(DBits(), x); }
HWY_INLINE V from_bits(Bits x) { return hn::BitCast(D(), x); }
HWY_INLINE Bits bit_constant(uint32_t bits) { return hn::Set(DBits(), bits); }

template <size_t n>
HWY_INLINE V polynomial(V x, const std::array<float, n>& c) {
  V sum = constant(c[n - 1]);
  for (size_t i = n - 1; i-- > 0;) sum = hn::MulAdd(sum, x, constant(c[i]));
  return sum;
}
HWY_INLINE V clamped(V x, float low, float high) {
  return hn::Min(hn::Max(x, constant(low)), constant(high));
}
HWY_INLINE V or_nan(V x, V result) { return hn::IfThenElse(x == x, result, x); }

// ---- Exponentials: x = n ln 2 + r, |r| <= ln(2) / 2.

struct Reduced {
  V r, n;
  Bits bits;  // n in the low nine
};
HWY_INLINE Reduced reduced(V x) {
  const V sum = hn::MulAdd(x, constant(0x1.715476p0F), constant(kRounder));
  const V n = sum - constant(kRounder);
  const V r = hn::NegMulAdd(n, constant(kLn2High), x);
  return {hn::NegMulAdd(n, constant(kLn2Low), r), n, bits_of(sum)};
}
HWY_INLINE V small_expm1(V r) {
  constexpr std::array<float, 5> kSeries = {0.5F, 0.16666543F, 0.04166642F, 0.008366575F,
                                            0.00139393F};
  return hn::MulAdd(r * r, polynomial(r, kSeries), r);
}
// 2^(n + more), which must be a normal number.
HWY_INLINE V power_of_two(const Reduced& x, int more = 0) {
  return from_bits(hn::ShiftLeft<23>(x.bits + bit_constant(static_cast<uint32_t>(127 + more))));
}
// y 2^(n - less), in two steps, since 2^n may overflow or underflow.
HWY_INLINE V scaled(V y, const Reduced& x, uint32_t less = 0) {
  const Bits half = hn::ShiftRight<1>(x.bits + bit_constant(256));  // and 128 more
  const V first = from_bits(hn::ShiftLeft<23>(half - bit_constant(1)));
  const V second = from_bits(hn::ShiftLeft<23>(x.bits + bit_constant(255 - less) - half));
  return y * first * second;
}
// e^x 2^-less for x from -104 to 90.
HWY_INLINE V exp_of_clamped(V x, uint32_t less = 0) {
  const Reduced y = reduced(x);
  return scaled(small_expm1(y.r) + constant(1), y, less);
}

// Arguments whose result is 0, such as masked scores, are handled separately: products that are
// subnormal take ten times as long.
struct Exp {
  static HWY_INLINE V of(D, V x) {
    const V zero = constant(0);
    const auto vanishes = x < constant(-104);
    const V near = hn::IfThenElse(vanishes, zero, clamped(x, -104, 89));
    return or_nan(x, hn::IfThenElse(vanishes, zero, exp_of_clamped(near)));
  }
};

struct Exp2 {
  static HWY_INLINE V of(D, V x) {
    const V near = clamped(x, -151, 129);
    const V sum = near + constant(kRounder);
    const V n = sum - constant(kRounder);
    const Reduced y = {(near - n) * constant(0x1.62e43p-1F), n, bits_of(sum)};
    return or_nan(x, scaled(small_expm1(y.r) + constant(1), y));
  }
};

struct Expm1 {
  static HWY_INLINE V of(D, V x) {
    const Reduced y = reduced(clamped(x, -18, 89));
    const V t = small_expm1(y.r);
    const V half = power_of_two(y, -1);  // 2^128 would overflow
    const V result = hn::MulAdd(half, t, half - constant(0.5F)) * constant(2);
    return or_nan(x, hn::CopySign(hn::IfThenElse(y.n == constant(0), t, result), x));
  }
};

// 1 / (1 + e), times e for negative x. e = p (1 + t), where only t is rounded; p is scaled by 2^64,
// so that it is normal even if the result is not.
struct Sigmoid {
  static HWY_INLINE V of(D, V x) {
    const V one = constant(1), back = constant(0x1p-64F);
    const Reduced y = reduced(constant(0) - hn::Min(hn::Abs(x), constant(104)));
    const V p = power_of_two(y, 64), t = small_expm1(y.r);
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
    constexpr std::array<float, 5> kNear = {-0.33333284F, 0.13331477F, -0.053742014F, 0.02064503F,
                                            -0.005710227F};
    const V size = hn::Abs(x), square = x * x;
    const V near = hn::MulAdd(size * square, polynomial(square, kNear), size);
    const V twice = hn::Min(size + size, constant(20));  // from there on the result is 1
    const Reduced y = reduced(twice);
    const V power = power_of_two(y);
    const V e = hn::MulAdd(small_expm1(y.r), power, power);
    const V far = constant(1) - constant(2) / (e + constant(1));
    return or_nan(x, hn::CopySign(hn::IfThenElse(size < constant(0.625F), near, far), x));
  }
};

struct Sinh {
  static HWY_INLINE V of(D, V x) {
    constexpr std::array<float, 4> kNear = {0.16666667F, 0.008333311F, 0.00019842632F,
                                            2.783963e-06F};
    const V size = hn::Abs(x), square = x * x;
    const V near = hn::MulAdd(size * square, polynomial(square, kNear), size);
    const V half = exp_of_clamped(hn::Min(size, constant(90)), 1);
    const V far = half - constant(0.25F) / half;
    return or_nan(x, hn::CopySign(hn::IfThenElse(size < constant(1), near, far), x));
  }
};

struct Cosh {
  static HWY_INLINE V of(D, V x) {
    const V half = exp_of_clamped(hn::Min(hn::Abs(x), constant(90)), 1);
    return or_nan(x, half + constant(0.25F) / half);
  }
};

// Above 1 it is 1 - e^p with a polynomial p for ln erfc.
struct Erf {
  static HWY_INLINE V of(D, V x) {
    constexpr std::array<float, 7> kNear = {0.12837917F,   -0.3761263F,   0.11283618F,
                                            -0.026855122F, 0.0051907166F, -0.00080305093F,
                                            7.919188e-05F};
    constexpr std::array<float, 7> kFar = {-1.8496056F,  -2.6389627F,    -0.8431726F, -0.041260745F,
                                           0.009450719F, -0.0014813805F, 9.09776e-05F};
    const V size = hn::Min(hn::Abs(x), constant(3.93F)), square = size * size;
    const V near = hn::MulAdd(size, polynomial(square, kNear), size);
    const Reduced y = reduced(polynomial(size - constant(1), kFar));
    const V power = power_of_two(y);
    const V far = constant(1) - hn::MulAdd(small_expm1(y.r), power, power);
    return or_nan(x, hn::CopySign(hn::IfThenElse(size < constant(1), near, far), x));
  }
};

// ---- Logarithms: x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).

struct Scaled {
  V k, f;
  Bits exponent;  // exponent of 2^k
};
// For a positive normal x.
HWY_INLINE Scaled scaled(V x) {
  constexpr uint32_t kOne = 0x3f800000, kRootOfHalf = 0x3f3504f3;
  const Bits exponent = (bits_of(x) + bit_constant(kOne - kRootOfHalf)) & bit_constant(0xff800000);
  const V m = from_bits(bits_of(x) - (exponent - bit_constant(kOne)));
  // The exponent as an integer, from the low bits of 2^23.
  const V k =
      from_bits(hn::ShiftRight<23>(exponent) | bit_constant(0x4b000000)) - constant(0x1p23F + 127);
  return {k, m - constant(1), exponent};
}
HWY_INLINE Scaled scaled_also_subnormal(V x) {
  const auto tiny = x < constant(std::numeric_limits<float>::min());
  Scaled result = scaled(hn::IfThenElse(tiny, x * constant(0x1p25F), x));
  result.k = result.k - hn::IfThenElse(tiny, constant(25), constant(0));
  return result;
}
// ln(1 + f) - f.
HWY_INLINE V log_beyond(V f) {
  constexpr std::array<float, 9> kSeries = {-0.5F,       0.33333316F,  -0.25000808F,
                                            0.20002298F, -0.16624644F, 0.14181063F,
                                            -0.1312787F, 0.12881964F,  -0.07862033F};
  return f * f * polynomial(f, kSeries);
}
HWY_INLINE V log_of(const Scaled& x) {
  return hn::MulAdd(x.k, constant(kLn2High),
                    x.f + hn::MulAdd(x.k, constant(kLn2Low), log_beyond(x.f)));
}
// `result` for a finite positive x; otherwise the limits of the logarithm.
HWY_INLINE V log_limits(V x, V result) {
  const V zero = constant(0), infinity = constant(kInfinity);
  const V unusual =
      hn::IfThenElse(x == zero, constant(-kInfinity), hn::IfThenElse(x < zero, constant(kNan), x));
  return hn::IfThenElse(hn::And(x > zero, x < infinity), result, unusual);
}

struct Log {
  static HWY_INLINE V of(D, V x) { return log_limits(x, log_of(scaled_also_subnormal(x))); }
};
struct Log2 {
  static HWY_INLINE V of(D, V x) {
    const Scaled y = scaled_also_subnormal(x);
    const V beyond = log_beyond(y.f);
    // 1 / ln 2 - 1.
    const V rest = hn::MulAdd(y.f + beyond, constant(0x1.c551dap-2F), beyond);
    return log_limits(x, y.k + (y.f + rest));
  }
};
struct Log10 {
  static HWY_INLINE V of(D, V x) {
    constexpr float kHigh = 0x1.344p-2F, kLow = 0x1.3509f8p-18F;  // log10(2)
    const Scaled y = scaled_also_subnormal(x);
    const V scale = constant(0x1.bcb7b2p-2F);  // 1 / ln 10
    const V beyond = log_beyond(y.f), sum = y.f + beyond;
    const V near = hn::MulAdd(sum, scale, ((y.f - sum) + beyond) * scale);
    return log_limits(x, hn::MulAdd(y.k, constant(kHigh), hn::MulAdd(y.k, constant(kLow), near)));
  }
};
// f is computed from x, as 2^-k x + (2^-k - 1), unless 1 + x is just as accurate.
struct Log1p {
  static HWY_INLINE V of(D, V x) {
    const V sum = constant(1) + x;
    Scaled y = scaled(sum);
    const V scale = from_bits(bit_constant(0x7f000000) - y.exponent);
    const V f = hn::MulAdd(x, scale, scale - constant(1));
    y.f = hn::IfThenElse(sum < constant(0x1p24F), f, y.f);
    return hn::CopySign(log_limits(sum, log_of(y)), x);
  }
};

// ---- Angles.

// x = n pi / 2 + r + rest with |r| <= pi / 4, for |x| below kMostTurned.
struct Turned {
  V r, rest;
  Bits quarters;  // n in the low bits
};
constexpr float kMostTurned = 8192;
HWY_INLINE Turned turned(V x) {
  // Four parts of pi / 2: products of the first three with n of up to 13 bits are exact.
  constexpr std::array<float, 4> kQuarter = {0x1.92p0F, 0x1.fb4p-12F, 0x1.444p-24F,
                                             0x1.68c234p-39F};
  const V sum = hn::MulAdd(x, constant(0x1.45f306p-1F), constant(kRounder));
  const V n = sum - constant(kRounder);
  V high = hn::NegMulAdd(n, constant(kQuarter[0]), x);
  high = hn::NegMulAdd(n, constant(kQuarter[1]), high);
  const V third = n * constant(kQuarter[2]);
  const V sum_of_three = high - third;
  const V low = hn::NegMulAdd(n, constant(kQuarter[3]), (high - sum_of_three) - third);
  const V r = sum_of_three + low;
  return {r, (sum_of_three - r) + low, bits_of(sum)};
}
HWY_INLINE V sine_of_small(V r, V rest) {
  constexpr std::array<float, 3> kSeries = {-0.16666655F, 0.00833219F, -0.00019518408F};
  const V square = r * r;
  return r + hn::MulAdd(square * r, polynomial(square, kSeries), rest);
}
HWY_INLINE V cosine_of_small(V r) {
  constexpr std::array<float, 3> kSeries = {0.041666646F, -0.0013887299F, 2.4430235e-05F};
  const V square = r * r;
  const V beyond =
      hn::MulAdd(square * square, polynomial(square, kSeries), constant(-0.5F) * square);
  return constant(1) + beyond;
}
HWY_INLINE auto is_odd(Bits n) {
  return hn::RebindMask(D(), (n & bit_constant(1)) == bit_constant(1));
}
HWY_INLINE V sine_after(const Turned& x, uint32_t quarters) {
  const Bits n = x.quarters + bit_constant(quarters);
  const V magnitude = hn::IfThenElse(is_odd(n), cosine_of_small(x.r), sine_of_small(x.r, x.rest));
  return from_bits(bits_of(magnitude) ^ hn::ShiftLeft<30>(n & bit_constant(2)));
}

// Selected per lane, so that a result does not depend on neighbouring numbers.
template <class Op>
HWY_INLINE V where_turned(D d, V x, V result) {
  const auto is_turned = hn::Abs(x) < constant(kMostTurned);
  return unless_all(d, is_turned, result, [&]() HWY_ATTR {
    return hn::IfThenElse(is_turned, result, in_double<Op>(d, x));
  });
}

struct Sin {
  static HWY_INLINE V of(D d, V x) {
    const V result = hn::IfThenElse(x == constant(0), x, sine_after(turned(x), 0));
    return where_turned<HWY_NAMESPACE::Sin>(d, x, result);
  }
};
struct Cos {
  static HWY_INLINE V of(D d, V x) {
    return where_turned<HWY_NAMESPACE::Cos>(d, x, sine_after(turned(x), 1));
  }
};
struct Tan {
  static HWY_INLINE V of(D d, V x) {
    constexpr std::array<float, 7> kSeries = {0.33333352F,  0.13332577F,  0.0540697F,
                                              0.021231938F, 0.010965128F, -7.3205396e-05F,
                                              0.004456013F};
    const Turned y = turned(x);
    const V square = y.r * y.r;
    const V rest = hn::MulAdd(square, y.rest, y.rest);
    const V near = y.r + hn::MulAdd(square * y.r, polynomial(square, kSeries), rest);
    const V result = hn::IfThenElse(is_odd(y.quarters), constant(-1) / near, near);
    return where_turned<HWY_NAMESPACE::Tan>(d, x, hn::IfThenElse(x == constant(0), x, result));
  }
};

// High and low part of pi / 2.
constexpr float kQuarterHigh = 0x1.921fb6p0F, kQuarterLow = -0x1.777a5cp-25F;

// The arc sine of x up to 1/2; above, of s with s^2 = (1 - x) / 2, which is half of the angle that
// remains to pi / 2. As s + beyond.
struct Arc {
  V s, beyond;
};
HWY_INLINE Arc arc(V size) {
  constexpr std::array<float, 5> kSeries = {0.1666675F, 0.07495345F, 0.04546637F, 0.024193102F,
                                            0.04215056F};
  const V half = constant(0.5F);
  const V square = hn::IfThenElse(size > half, (constant(1) - size) * half, size * size);
  const V s = hn::IfThenElse(size > half, hn::Sqrt(square), size);
  return {s, s * square * polynomial(square, kSeries)};
}
struct Asin {
  static HWY_INLINE V of(D, V x) {
    const V size = hn::Abs(x), two = constant(2);
    const Arc a = arc(size);
    const V high = constant(kQuarterHigh), difference = high - two * a.s;
    const V lost = (high - difference) - two * a.s;
    const V far = difference + (lost + (constant(kQuarterLow) - two * a.beyond));
    return hn::CopySign(hn::IfThenElse(size > constant(0.5F), far, a.s + a.beyond), x);
  }
};
struct Acos {
  static HWY_INLINE V of(D, V x) {
    const V size = hn::Abs(x), two = constant(2);
    const Arc a = arc(size);
    const V s = hn::CopySign(a.s, x), beyond = hn::CopySign(a.beyond, x);
    const V near = (constant(kQuarterHigh) - s) + (constant(kQuarterLow) - beyond);
    const V right = two * (a.s + a.beyond);
    const V left =
        (constant(2 * kQuarterHigh) - two * a.s) + (constant(2 * kQuarterLow) - two * a.beyond);
    const V far = hn::IfThenElse(x < constant(0), left, right);
    return hn::IfThenElse(size > constant(0.5F), far, near);
  }
};
// The arc tangent of a ratio below tan(pi / 8), plus the angle of the reduction.
struct Atan {
  static HWY_INLINE V of(D, V x) {
    constexpr float kLow = 0x1.a8279ap-2F, kHigh = 0x1.3504f4p1F;
    constexpr std::array<float, 5> kSeries = {-0.33333316F, 0.19998533F, -0.14244504F, 0.10600068F,
                                              -0.06092329F};
    const V size = hn::Abs(x), zero = constant(0), one = constant(1);
    const auto low = size<constant(kLow), high = size> constant(kHigh);
    const auto choose = [&](V at_low, V at_high, V between) HWY_ATTR {
      return hn::IfThenElse(low, at_low, hn::IfThenElse(high, at_high, between));
    };
    const V r = choose(size, constant(-1), size - one) / choose(one, size, size + one);
    const V r2 = r * r;
    const V rest = choose(zero, constant(kQuarterLow), constant(kQuarterLow / 2));
    const V small = r + hn::MulAdd(r2 * r, polynomial(r2, kSeries), rest);
    return hn::CopySign(small + choose(zero, constant(kQuarterHigh), constant(kQuarterHigh / 2)),
                        x);
  }
};

}  // namespace single
}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();
