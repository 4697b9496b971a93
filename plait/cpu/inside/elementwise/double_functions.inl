// Functions of f32 that are computed in lanes of f64, and building blocks for others of that kind.
// In f64 a series with an error of 1e-9 is exact up to the final rounding, intermediate results do
// not overflow, and subnormal numbers are normal. Each function takes every f32. Functions that are
// also accurate in lanes of f32 are in single_functions.inl.
//
// The series are Taylor series on reduced ranges; their coefficients show which.
#include <array>
#include <cmath>
#include <limits>

// The source of lanes: registers by default, or emitted code.
#ifndef PLAIT_LANES
#define PLAIT_LANES "plait/cpu/inside/elementwise/dense_loops.inl"
#endif
#include PLAIT_LANES

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using DBits = hn::Rebind<uint64_t, D>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
// Adding this constant rounds to an integer, which the low bits of the sum hold.
constexpr double kRounder = 0x1.8p52;

HWY_INLINE V constant(double value) { return hn::Set(D(), value); }
HWY_INLINE auto bits_of(V x) { return hn::BitCast(DBits(), x); }
HWY_INLINE auto bit_constant(uint64_t bits) { return hn::Set(DBits(), bits); }

// Σ c[i] x^i.
template <size_t n>
HWY_INLINE V polynomial(V x, const std::array<double, n>& c) {
  V sum = constant(c[n - 1]);
  for (size_t i = n - 1; i-- > 0;) sum = hn::MulAdd(sum, x, constant(c[i]));
  return sum;
}

HWY_INLINE V clamped(V x, double low, double high) {
  return hn::Min(hn::Max(x, constant(low)), constant(high));
}

// a / b for b and 1 / b in the finite range of f32, to 46 bits: an approximate reciprocal and one
// Newton step. A division in f64 takes three times as long.
HWY_INLINE V quotient(V a, V b) {
  const hn::Rebind<float, D> single;
  const V r = hn::PromoteTo(D(), hn::Set(single, 1.0F) / hn::DemoteTo(single, b));
  const V q = a * r;
  return hn::MulAdd(r, hn::NegMulAdd(q, b, a), q);
}

HWY_INLINE V or_nan(V x, V result) { return hn::IfThenElse(x == x, result, x); }

// e^r - 1 for |r| <= ln(2) / 2.
HWY_INLINE V small_expm1(V r) {
  constexpr std::array<double, 7> kSeries = {1.0 / 2,   1.0 / 6,    1.0 / 24,   1.0 / 120,
                                             1.0 / 720, 1.0 / 5040, 1.0 / 40320};
  return hn::MulAdd(r * r, polynomial(r, kSeries), r);
}

// x = n ln 2 + r, and 2^n; |x| must be below 700.
struct Reduced {
  V r, power;
};
HWY_INLINE V power_of_whole(V sum) {
  // Moves the integer from the low bits into the exponent.
  return hn::BitCast(D(), hn::ShiftLeft<52>(bits_of(sum) + bit_constant(1023)));
}
HWY_INLINE Reduced reduced(V x) {
  const V sum = hn::MulAdd(x, constant(1 / kLn2), constant(kRounder));
  const V n = sum - constant(kRounder);
  return {hn::NegMulAdd(n, constant(kLn2), x), power_of_whole(sum)};
}

HWY_INLINE V exp_of_clamped(V x) {
  const Reduced x2 = reduced(x);
  return hn::MulAdd(x2.power, small_expm1(x2.r), x2.power);
}

// Outside of this range the result in f32 is 0 or infinity.
HWY_INLINE V exp_range(V x) { return clamped(x, -110, 90); }

// x = 2^k m with sqrt(1/2) ≤ m < sqrt(2), for a positive normal x.
struct Scaled {
  V k, m;
  hn::Vec<DBits> exponent;  // exponent of 2^k
};
HWY_INLINE Scaled scaled(V x) {
  constexpr uint64_t kOne = 0x3ff0000000000000, kRootOfHalf = 0x3fe6a09e667f3bcd;
  const auto shifted = bits_of(x) + bit_constant(kOne - kRootOfHalf);
  const auto exponent = shifted & bit_constant(0xfff0000000000000);
  const V m = hn::BitCast(D(), bits_of(x) - (exponent - bit_constant(kOne)));
  // The exponent as an integer, from the low bits of 2^52.
  const V k = hn::BitCast(D(), hn::ShiftRight<52>(exponent) | bit_constant(0x4330000000000000)) -
              constant(0x1p52 + 1023);
  return {k, m, exponent};
}

// ln(1 + f) for 1 + f in that range, fitted at Chebyshev nodes, with an error below 2e-9.
HWY_INLINE V log_beside_one(V f) {
  constexpr std::array<double, 10> kSeries = {
      -0.4999999994349637,  0.333333227936071,  -0.25000010940100675, 0.2000144672220023,
      -0.16667536772428632, 0.1423231785955222, -0.12420814467908906, 0.1181213614232965,
      -0.11557287882015821, 0.06769024113816001};
  return hn::MulAdd(f * f, polynomial(f, kSeries), f);
}
HWY_INLINE V log_of_normal(V x) {
  const Scaled s = scaled(x);
  return hn::MulAdd(s.k, constant(kLn2), log_beside_one(s.m - constant(1)));
}
// Nearly to f64 accuracy: ln m = 2 atanh s = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1).
HWY_INLINE V exact_log_of_normal(V x) {
  constexpr std::array<double, 7> kSeries = {2.0 / 3,  2.0 / 5,  2.0 / 7, 2.0 / 9,
                                             2.0 / 11, 2.0 / 13, 2.0 / 15};
  const Scaled x2 = scaled(x);
  const V s = (x2.m - constant(1)) / (x2.m + constant(1));
  const V s2 = s * s;
  const V series = hn::MulAdd(s2 * s, polynomial(s2, kSeries), s + s);
  return hn::MulAdd(x2.k, constant(kLn2), series);
}

// `result` for a finite positive x; otherwise the limits of the logarithm.
HWY_INLINE V log_limits(V x, V result) {
  const V zero = constant(0), infinity = constant(kInfinity);
  const V unusual =
      hn::IfThenElse(x == zero, constant(-kInfinity), hn::IfThenElse(x < zero, constant(kNan), x));
  return hn::IfThenElse(hn::And(x > zero, x < infinity), result, unusual);
}

// If 1 + x needs no scaling, f is x itself. `x` must be above -1 and finite.
HWY_INLINE V log1p_of_finite(V x) {
  const Scaled s = scaled(constant(1) + x);
  const V beside = hn::IfThenElse(s.k == constant(0), x, s.m - constant(1));
  return hn::MulAdd(s.k, constant(kLn2), log_beside_one(beside));
}
struct Log1p {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D, V x) {
    return hn::CopySign(log_limits(constant(1) + x, log1p_of_finite(x)), x);
  }
};
// The larger operand plus ln(1 + e^-distance). Equal infinities have distance 0.
struct LogAddExp {
  static constexpr int kArity = 2;
  static HWY_INLINE V of(D, V a, V b) {
    const V larger = hn::IfThenElse(a > b, a, b);
    const V distance = hn::IfThenElse(a == b, constant(0), hn::Abs(a - b));
    const V near = exp_of_clamped(constant(0) - hn::Min(distance, constant(600)));
    return or_nan(distance, larger + log1p_of_finite(near));
  }
};

// sin and cos of r with |r| <= pi / 4, and the low bits of n, for x = n pi / 2 + r.
struct Turned {
  V sine, cosine;
  hn::Vec<DBits> quarters;
};
HWY_INLINE Turned turned(V x) {
  // pi / 2 in three parts: products of the first two with n of up to 20 bits are exact.
  constexpr double kFirst = 0x1.921fb544p0, kSecond = 0x1.0b4611a6p-34,
                   kThird = 0x1.3198a2e037073p-69;
  constexpr std::array<double, 5> kSine = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                           -1.0 / 39916800};
  constexpr std::array<double, 6> kCosine = {-1.0 / 2,    1.0 / 24,       -1.0 / 720,
                                             1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
  constexpr double kQuartersOfOne = 0x1.45f306dc9c883p-1;  // 2 / pi
  const V sum = hn::MulAdd(x, constant(kQuartersOfOne), constant(kRounder));
  const V n = sum - constant(kRounder);
  V r = hn::NegMulAdd(n, constant(kFirst), x);
  r = hn::NegMulAdd(n, constant(kSecond), r);
  r = hn::NegMulAdd(n, constant(kThird), r);
  const V r2 = r * r;
  return {hn::MulAdd(r2 * r, polynomial(r2, kSine), r),
          hn::MulAdd(r2, polynomial(r2, kCosine), constant(1)), bits_of(sum)};
}
constexpr double kMostTurned = 0x1p20;

HWY_INLINE V sine_after(const Turned& x, uint64_t quarters) {
  const auto n = x.quarters + bit_constant(quarters);
  const auto odd = hn::RebindMask(D(), (n & bit_constant(1)) == bit_constant(1));
  const auto sign = hn::ShiftLeft<62>(n & bit_constant(2));
  const V magnitude = hn::IfThenElse(odd, x.cosine, x.sine);
  return hn::BitCast(D(), bits_of(magnitude) ^ sign);
}

// Larger numbers would need more parts of pi, and use the scalar function. The selection is per
// lane, so that a result does not depend on neighbouring numbers.
template <double (*function)(double)>
HWY_INLINE V where_turned(D d, V x, V result) {
  const auto is_turned = hn::Abs(x) < constant(kMostTurned);
  return unless_all(d, is_turned, result, [&]() HWY_ATTR {
    return hn::IfThenElse(is_turned, result, one_by_one<function>(d, x));
  });
}

struct Sin {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D d, V x) {
    const V result = hn::IfThenElse(x == constant(0), x, sine_after(turned(x), 0));
    return where_turned<std::sin>(d, x, result);
  }
};
struct Cos {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D d, V x) {
    return where_turned<std::cos>(d, x, sine_after(turned(x), 1));
  }
};
struct Tan {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D d, V x) {
    const Turned t = turned(x);
    const V result = quotient(sine_after(t, 0), sine_after(t, 1));
    return where_turned<std::tan>(d, x, hn::IfThenElse(x == constant(0), x, result));
  }
};

struct Hypot {
  static constexpr int kArity = 2;
  static HWY_INLINE V of(D, V a, V b) {
    const V infinity = constant(kInfinity);
    const auto infinite = hn::Or(hn::Abs(a) == infinity, hn::Abs(b) == infinity);
    return hn::IfThenElse(infinite, infinity, hn::Sqrt(hn::MulAdd(a, a, b * b)));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();
