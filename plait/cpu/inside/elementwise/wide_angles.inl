// Functions of f64 in lanes of f64: trigonometric functions and their inverses.
#include "plait/cpu/inside/elementwise/wide_functions.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace wide {

// x = n pi / 2 + r + rest with |r| <= pi / 4, for |x| below kMostTurned.
struct Turned {
  V r, rest;
  Bits quarters;  // n in the low bits
};
HWY_INLINE Turned turned(V x) {
  // pi / 2 in four parts: products of the first three with n of up to 20 bits are exact, and so is
  // x minus the first two of them.
  constexpr std::array<double, 4> kQuarter = {0x1.921fb544p0, 0x1.0b46p-34, 0x1.1a62633p-54,
                                              0x1.45c06e0e68948p-86};
  const V sum = hn::MulAdd(x, constant(0x1.45f306dc9c883p-1), constant(kRounder));
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
  constexpr std::array<double, 6> kSeries = {-0.16666666666666666,    0.008333333333330948,
                                             -0.00019841269836757408, 2.7557316101789055e-06,
                                             -2.505113166029225e-08,  1.5918114511572375e-10};
  const V square = r * r;
  return r + hn::MulAdd(square * r, polynomial(square, kSeries), rest);
}
HWY_INLINE V cosine_of_small(V r, V rest) {
  constexpr std::array<double, 6> kSeries = {0.041666666666666664,   -0.0013888888888887398,
                                             2.4801587298764788e-05, -2.755731727117522e-07,
                                             2.0876146138584916e-09, -1.1382622252384156e-11};
  const V square = r * r, half = square * constant(0.5);
  const V near = constant(1) - half;
  const V lost = (constant(1) - near) - half;
  const V beyond = hn::MulAdd(square * square, polynomial(square, kSeries), lost);
  return near + hn::NegMulAdd(r, rest, beyond);
}
HWY_INLINE auto is_odd(Bits n) {
  return hn::RebindMask(D(), (n & bit_constant(1)) == bit_constant(1));
}
HWY_INLINE V sine_after(const Turned& x, uint64_t quarters) {
  const Bits n = x.quarters + bit_constant(quarters);
  const V magnitude =
      hn::IfThenElse(is_odd(n), cosine_of_small(x.r, x.rest), sine_of_small(x.r, x.rest));
  return from_bits(bits_of(magnitude) ^ hn::ShiftLeft<62>(n & bit_constant(2)));
}

struct Sin {
  static HWY_INLINE V of(D d, V x) {
    const V result = hn::IfThenElse(x == constant(0), x, sine_after(turned(x), 0));
    return where_turned<std::sin>(d, x, result);
  }
};
struct Cos {
  static HWY_INLINE V of(D d, V x) {
    return where_turned<std::cos>(d, x, sine_after(turned(x), 1));
  }
};
struct Tan {
  static HWY_INLINE V of(D d, V x) {
    constexpr std::array<double, 14> kSeries = {
        0.33333333333333326,    0.13333333333337927,    0.05396825396350376,
        0.021869488729432136,   0.008863231433222124,   0.003592179923725033,
        0.0014554101012051518,  0.0005923709252604138,  0.00023017150645947867,
        0.00012078597820558346, -4.634443733187884e-06, 6.985482993966964e-05,
        -3.45058580035314e-05,  1.8418308136115696e-05};
    const Turned y = turned(x);
    const V square = y.r * y.r;
    const V rest = hn::MulAdd(square, y.rest, y.rest);
    const V near = y.r + hn::MulAdd(square * y.r, polynomial(square, kSeries), rest);
    const V result = hn::IfThenElse(is_odd(y.quarters), constant(-1) / near, near);
    return where_turned<std::tan>(d, x, hn::IfThenElse(x == constant(0), x, result));
  }
};

// High and low part of pi / 2.
constexpr double kQuarterHigh = 0x1.921fb54442d18p0, kQuarterLow = 0x1.1a62633145c07p-54;

// The arc sine of x up to 1/2; above, of s with s^2 = (1 - x) / 2, which is half of the angle that
// remains to pi / 2. As s + beyond.
struct Arc {
  V s, beyond;
};
HWY_INLINE Arc arc(V size) {
  constexpr std::array<double, 13> kSeries = {
      0.16666666666666669,  0.07499999999998246,  0.04464285714671502,  0.030381944111486252,
      0.022372173991937198, 0.017352368698806363, 0.01397156119267068,  0.011475856595701328,
      0.010343929956268986, 0.005368862247655733, 0.017636788516965846, -0.01521243812481772,
      0.028998874121834682};
  const V half = constant(0.5);
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
    return hn::CopySign(hn::IfThenElse(size > constant(0.5), far, a.s + a.beyond), x);
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
    return hn::IfThenElse(size > constant(0.5), far, near);
  }
};

// The angle of a point with x, y >= 0, not both 0 or infinite: the arc tangent of a ratio of up to
// 0.66, plus the angle of the reduction. Corrections to pi / 4 or pi / 2 are small.
HWY_INLINE V angle(V y, V x) {
  constexpr double kMost = 0.66;
  constexpr std::array<double, 15> kSeries = {
      -0.3333333333333333,   0.19999999999998666,  -0.14285714285479292,  0.11111111094774558,
      -0.09090908495191806,  0.07692294574639429,  -0.06666477349223476,  0.058804677848697154,
      -0.052497713658651544, 0.04692691808307159,  -0.040840976178411356, 0.0325494483104307,
      -0.0213789400677457,   0.009809888799082433, -0.0022656356914492505};
  const V zero = constant(0);
  const auto low = y < x * constant(kMost), high = x < y * constant(kMost);
  const auto choose = [&](V at_low, V at_high, V between) HWY_ATTR {
    return hn::IfThenElse(low, at_low, hn::IfThenElse(high, at_high, between));
  };
  const V r = choose(y, zero - x, y - x) / choose(x, y, y + x);
  const V r2 = r * r;
  const V rest = choose(zero, constant(kQuarterLow), constant(kQuarterLow / 2));
  const V small = r + hn::MulAdd(r2 * r, polynomial(r2, kSeries), rest);
  return small + choose(zero, constant(kQuarterHigh), constant(kQuarterHigh / 2));
}
struct Atan {
  static HWY_INLINE V of(D, V x) { return hn::CopySign(angle(hn::Abs(x), constant(1)), x); }
};
struct Atan2 {
  static HWY_INLINE V of(D, V y, V x) {
    const V zero = constant(0), one = constant(1);
    const V height = hn::Abs(y), width = hn::Abs(x);
    // Sums of large numbers would overflow; and both may be 0 or infinite.
    const V scale =
        hn::IfThenElse(hn::Max(height, width) > constant(0x1p1000), constant(0x1p-4), one);
    const auto alike = height == width;
    const V of_alike = hn::IfThenElse(height == zero, zero, one);
    const V a = hn::IfThenElse(alike, of_alike, height * scale);
    const V b = hn::IfThenElse(alike, one, width * scale);
    const V right = angle(a, b);
    const V left = (constant(2 * kQuarterHigh) - right) + constant(2 * kQuarterLow);
    const V sign = hn::CopySign(one, x);
    return hn::CopySign(hn::IfThenElse(sign < zero, left, right), y);
  }
};

}  // namespace wide
}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();
