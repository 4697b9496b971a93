// Further functions of f32 in lanes of f64: inverse trigonometric and hyperbolic functions, powers,
// floor division, and special functions. Coefficients that are not fractions are fitted at
// Chebyshev nodes, with an error below 1e-9 unless noted.
#include "plait/core/inside/mathematics/special_functions.h"
#include "plait/cpu/inside/elementwise/float_division.h"
#include "plait/cpu/inside/elementwise/wide_powers.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {

constexpr double kPi = 0x1.921fb54442d18p+1;

// The angle of a point with x, y >= 0: the arc tangent of a ratio below tan(pi / 8), plus the angle
// of the reduction.
HWY_INLINE V angle(V y, V x) {
  constexpr double kLow = 0x1.a827999fcef32p-2, kHigh = 0x1.3504f333f9de6p+1;
  constexpr std::array<double, 6> kSeries = {-0.3333333327922454,  0.1999997724823353,
                                             -0.14284150629730288, 0.11071354571201351,
                                             -0.08624598215196126, 0.05047937432040091};
  const V zero = constant(0);
  const auto low = y<x * constant(kLow), high = y> x * constant(kHigh);
  const auto alike = y == x;  // also if both are 0 or infinite
  const V above = hn::IfThenElse(low, y, hn::IfThenElse(high, zero - x, y - x));
  const V below = hn::IfThenElse(low, x, hn::IfThenElse(high, y, y + x));
  const V start = hn::IfThenElse(hn::Or(low, y == zero), zero,
                                 hn::IfThenElse(high, constant(kPi / 2), constant(kPi / 4)));
  const V r = hn::IfThenElse(alike, zero, above) / hn::IfThenElse(alike, constant(1), below);
  const V r2 = r * r;
  return start + hn::MulAdd(r2 * r, polynomial(r2, kSeries), r);
}
HWY_INLINE V angle_of_half_plane(V y, V x) {
  const V a = angle(y, hn::Abs(x));
  return hn::IfThenElse(hn::CopySign(constant(1), x) < constant(0), constant(kPi) - a, a);
}

struct Atan2 {
  static constexpr int kArity = 2;
  static HWY_INLINE V of(D, V y, V x) {
    return hn::CopySign(angle_of_half_plane(hn::Abs(y), x), y);
  }
};
struct Asinh {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D, V x) {
    const V size = hn::Abs(x), square = x * x, one = constant(1);
    const V beyond = size + square / (one + hn::Sqrt(square + one));
    const V result = hn::CopySign(log1p_of_finite(beyond), x);
    return hn::IfThenElse(size < constant(kInfinity), result, x);
  }
};
struct Acosh {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D d, V x) {
    const V beyond = x - constant(1);
    const V result = Log1p::of(d, beyond + hn::Sqrt(beyond * (beyond + constant(2))));
    return hn::IfThenElse(x < constant(1), constant(kNan), result);
  }
};
struct Atanh {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D d, V x) {
    const V size = hn::Abs(x);
    const V result = Log1p::of(d, (size + size) / (constant(1) - size)) * constant(0.5);
    return hn::CopySign(result, x);
  }
};

// a^b = e^(b ln a), with the special cases of IEEE 754 for zeros, infinities and negative numbers.
struct Power {
  static constexpr int kArity = 2;
  static HWY_INLINE auto is_whole(V x) {
    return (x + constant(kRounder)) - constant(kRounder) == x;
  }
  static HWY_INLINE V of(D, V a, V b) {
    const V zero = constant(0), one = constant(1), size = hn::Abs(a);
    // Above 2^30 every f32 is even.
    const V limited = hn::Min(hn::Abs(b), constant(0x1p30));
    const auto whole = is_whole(limited);
    const auto even = is_whole(limited * constant(0.5));
    V exponent = b * log_limits(size, exact_log_of_normal(size));
    exponent = hn::IfThenElse(hn::And(size == one, b == b), zero, exponent);
    V result = or_nan(exponent, exp_of_clamped(exp_range(exponent)));
    // Only odd powers keep the sign; fractional powers of 0 and infinity are positive.
    const V sign = hn::IfThenElse(even, one, hn::IfThenElse(whole, a, one));
    result = hn::CopySign(result, sign);
    const auto negative = hn::And(a < zero, size < constant(kInfinity));
    const V of_negative = hn::IfThenElse(whole, result, constant(kNan));
    result = hn::IfThenElse(negative, of_negative, result);
    return hn::IfThenElse(hn::Or(b == zero, a == one), one, result);
  }
};

// For quotients below 2^28 in magnitude, rounding does not cross an integer, and products of the
// integer part with the divisor are exact: a quotient that is not an integer differs from the
// nearest one by at least the last bit of a divisor.
HWY_INLINE auto is_divisible(V b, V quotient) {
  return hn::And(hn::Abs(quotient) < constant(0x1p28), hn::Abs(b) < constant(kInfinity));
}
constexpr auto kFmod = static_cast<double (*)(double, double)>(std::fmod);
struct Fmod {
  static constexpr int kArity = 2;
  static HWY_INLINE V of(D d, V a, V b) {
    const V quotient = a / b;
    const V result = hn::CopySign(hn::NegMulAdd(hn::Trunc(quotient), b, a), a);
    return unless_all(d, is_divisible(b, quotient), result,
                      [&]() HWY_ATTR { return one_by_one<kFmod>(d, a, b); });
  }
};
struct Remainder {
  static constexpr int kArity = 2;
  static HWY_INLINE V of(D d, V a, V b) {
    const V quotient = a / b;
    const V result = hn::CopySign(hn::NegMulAdd(hn::Floor(quotient), b, a), b);
    return unless_all(d, is_divisible(b, quotient), result,
                      [&]() HWY_ATTR { return one_by_one<remainder_of<double>>(d, a, b); });
  }
};
struct FloorDivide {
  static constexpr int kArity = 2;
  static HWY_INLINE V of(D d, V a, V b) {
    const V quotient = a / b;
    const V whole = hn::Floor(quotient);
    const V result = hn::IfThenElse(whole == constant(0), hn::CopySign(whole, quotient), whole);
    return unless_all(d, is_divisible(b, quotient), result,
                      [&]() HWY_ATTR { return one_by_one<floor_quotient<double>>(d, a, b); });
  }
};

// Up to 1: 1 minus the odd series of erf. Above: e^(-x^2) times a slowly varying function of (x -
// 3) / (x + 3). Above 10.5 it is 0.
struct Erfc {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D, V x) {
    constexpr std::array<double, 8> kNear = {1.1283791670623575,     -0.3761263847598959,
                                             0.1128378262204504,     -0.026865438309519075,
                                             0.005221053409713216,   -0.0008484396509190119,
                                             0.00011268253591169229, -9.673589935626818e-06};
    constexpr std::array<double, 11> kFar = {
        0.179001151187714,      -0.3262335602417771,   0.24560380024619963,  -0.15011592246373553,
        0.07166589070573899,    -0.024392781425990474, 0.004268444858320074, 0.000710104004982288,
        -0.0005931908583109519, 3.640761261352737e-05, 5.465872120902266e-05};
    const V size = hn::Min(hn::Abs(x), constant(10.5));
    const V t = quotient(size - constant(3), size + constant(3));
    const V far = exp_of_clamped(constant(0) - size * size) * polynomial(t, kFar);
    const V of_size = hn::IfThenElse(x < constant(0), constant(2) - far, far);
    const V near = hn::NegMulAdd(x, polynomial(size * size, kNear), constant(1));
    return or_nan(x, hn::IfThenElse(size < constant(1), near, of_size));
  }
};

// As a polynomial in w = -ln(1 - x^2), or in sqrt(w) for w above 5; the latter with an error below
// 4e-9.
struct ErfInverse {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D, V x) {
    constexpr std::array<double, 12> kNear = {
        1.5014093517481764,      0.24664027674858424,    -0.004177325080457763,
        -0.0012527079573557702,  0.0002182641252155226,  -4.996000110143956e-06,
        -3.4262662097342677e-06, 4.786897084558858e-07,  1.650364404121373e-08,
        -1.0861761271594343e-08, 4.3406268038539926e-10, 1.2346577114502573e-10};
    constexpr std::array<double, 11> kFar = {
        2.9633389192362993,     1.0037887435203534,     0.006968978723692859,
        -0.005224989143338784,  0.0037308213268704197,  -0.002487196420891448,
        0.0012565276174876902,  -0.0003198423787040834, -0.00010443807251594928,
        0.00012287879194510562, -3.2994839429672267e-05};
    const V one = constant(1), size = hn::Abs(x);
    const V w = constant(0) - log_of_normal((one - x) * (one + x));
    const V near = polynomial(w - constant(2.5), kNear);
    const V far = polynomial(hn::Sqrt(w) - constant(3.13), kFar);
    const V inside = x * hn::IfThenElse(w < constant(5), near, far);
    const V limit =
        hn::IfThenElse(size == one, hn::CopySign(constant(kInfinity), x), constant(kNan));
    return hn::IfThenElse(size < one, inside, limit);
  }
};

// The distance from the nearest integer, times pi, which determines sin and tan of pi x.
HWY_INLINE V half_turns(V x) {
  // Above 2^30 every f32 is an integer.
  const V limited = hn::Min(x, constant(0x1p30));
  const V whole = (limited + constant(kRounder)) - constant(kRounder);
  return (limited - whole) * constant(kPi);
}

// ln gamma for x > 0. Up to 2.5: (x - 1) (x - 2) times a slowly varying function, at x + 1 or x + 2
// for small x. Above: Stirling's series, at x + 6 for x below 8.
HWY_INLINE V log_gamma_of_positive(V x) {
  constexpr std::array<double, 11> kNear = {
      0.42278433509846713,    -0.1003173018903039,     0.03296500072183504,
      -0.012384174964542118,  0.004998633132553101,    -0.0021085140532559913,
      0.0009155555689553376,  -0.00040225296442764004, 0.00018094248392440206,
      -9.649339339662811e-05, 4.441220600596784e-05};
  constexpr std::array<double, 5> kSeries = {1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                                             1.0 / 1188};
  constexpr double kHalfLogOfTwoPi = 0.9189385332046727;
  const V one = constant(1);
  const auto is_near = x<constant(2.5), is_far = x> constant(8);
  const V small_step = hn::IfThenElse(x < constant(0.5), constant(2),
                                      hn::IfThenElse(x < constant(1.5), one, constant(0)));
  const V z =
      x + hn::IfThenElse(is_near, small_step, hn::IfThenElse(is_far, constant(0), constant(6)));
  // Factors with gamma(z) = gamma(x) · factor.
  const V two = x * (x + one);
  const V six = two * (x + constant(2)) * (x + constant(3)) * (x + constant(4)) * (x + constant(5));
  const V small_factor =
      hn::IfThenElse(x < constant(0.5), two, hn::IfThenElse(x < constant(1.5), x, one));
  const V factor = hn::IfThenElse(is_near, small_factor, hn::IfThenElse(is_far, one, six));
  const V near = (z - one) * (z - constant(2)) * polynomial(z - constant(2), kNear);
  const V r = one / z;
  const V rest = hn::MulAdd(r, polynomial(r * r, kSeries), constant(kHalfLogOfTwoPi) - z);
  const V far = hn::MulAdd(z - constant(0.5), exact_log_of_normal(z), rest);
  return hn::IfThenElse(is_near, near, far) - exact_log_of_normal(factor);
}

// gamma(-x) gamma(x) = -pi / (x sin(pi x)).
struct LogGamma {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D d, V x) {
    const V zero = constant(0), infinity = constant(kInfinity), size = hn::Abs(x);
    const auto finite = hn::And(zero < size, size < infinity);
    const V safe = hn::IfThenElse(finite, size, constant(1));
    const V of_size = log_gamma_of_positive(safe);
    const V result = unless_all(d, x > zero, of_size, [&]() HWY_ATTR {
      const V product = safe * hn::Abs(sine_after(turned(half_turns(safe)), 0));
      const V log = hn::IfThenElse(product == zero, zero - infinity, exact_log_of_normal(product));
      return hn::IfThenElse(x < zero, constant(1.1447298858494002) - log - of_size, of_size);
    });
    return or_nan(x, hn::IfThenElse(finite, result, infinity));
  }
};

// The derivative of ln gamma for x > 0: an asymptotic series, at x + 8 for x below 8.
HWY_INLINE V digamma_of_positive(V x) {
  constexpr std::array<double, 7> kSeries = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                             1.0 / 132, -691.0 / 32760, 1.0 / 12};
  const auto is_far = x > constant(8);
  // Σ 1 / (x + i) as one fraction.
  V above = constant(1), below = x;
  for (int i = 1; i < 8; ++i) {
    const V next = x + constant(i);
    above = hn::MulAdd(above, next, below);
    below = below * next;
  }
  const V steps =
      hn::IfThenElse(is_far, constant(0), above / hn::IfThenElse(is_far, constant(1), below));
  const V z = hn::IfThenElse(is_far, x, x + constant(8));
  const V r = constant(1) / z;
  const V r2 = r * r;
  return exact_log_of_normal(z) - hn::MulAdd(r2, polynomial(r2, kSeries), r * constant(0.5)) -
         steps;
}

// psi(-x) = psi(x) + 1 / x + pi / tan(pi x).
struct Digamma {
  static constexpr int kArity = 1;
  static HWY_INLINE V of(D d, V x) {
    const V zero = constant(0), infinity = constant(kInfinity), size = hn::Abs(x);
    const auto finite = hn::And(zero < size, size < infinity);
    const V safe = hn::IfThenElse(finite, size, constant(1));
    const V of_size = digamma_of_positive(safe);
    const V result = unless_all(d, x > zero, of_size, [&]() HWY_ATTR {
      const V part = half_turns(safe);
      const Turned t = turned(part);
      const V mirrored =
          of_size + constant(1) / safe + constant(kPi) * sine_after(t, 1) / sine_after(t, 0);
      const V negative = hn::IfThenElse(part == zero, constant(kNan), mirrored);
      return hn::IfThenElse(x < zero, negative, of_size);
    });
    const V at_end = hn::IfThenElse(x < zero, constant(kNan), infinity);
    const V at_limit = hn::IfThenElse(x == zero, zero - hn::CopySign(infinity, x), at_end);
    return or_nan(x, hn::IfThenElse(finite, result, at_limit));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();
