// Functions of f64 in lanes of f64: powers, and functions of the normal distribution.
#include "plait/cpu/inside/elementwise/wide_angles.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace wide {

// A number as a sum of two; the first one has 26 bits.
struct Parts {
  V high, low;
};

// log2 of x > 0 to 66 bits. x = 2^k m with sqrt(3/4) ≤ m < sqrt(3), and ln m = ln base + 2 atanh s
// with base 1 or 3/2, s = (m - base) / (m + base), and atanh s = s (1 + s^2/3 + s^4/5 + ...).
HWY_INLINE Parts log2_of(V x) {
  constexpr uint64_t kOne = 0x3ff0000000000000, kRootOf3Quarters = 0x3febb67ae8584caa;
  constexpr std::array<double, 6> kSeries = {0.6,
                                             0.4285714285721422,
                                             0.3333333325201237,
                                             0.2727276114713097,
                                             0.23070551869952058,
                                             0.2055074704594535};                   // 3 times that
  constexpr double kScaleHigh = 0x1.ec709d8p-1, kScaleLow = 0x1.0e80ff5d27f05p-27;  // 2 / (3 ln 2)
  constexpr double kBaseHigh = 0x1.2b80347p-1, kBaseLow = 0x1.fbd6879fa00b1p-32;    // log2(3/2)
  const V zero = constant(0), one = constant(1), three = constant(3);
  const auto tiny = x < constant(std::numeric_limits<double>::min());
  const Bits bits = bits_of(hn::IfThenElse(tiny, x * constant(0x1p54), x));
  const Bits exponent =
      (bits + bit_constant(kOne - kRootOf3Quarters)) & bit_constant(0xfff0000000000000);
  const V m = from_bits(bits - (exponent - bit_constant(kOne)));
  const V k = from_bits(hn::ShiftRight<52>(exponent) | bit_constant(0x4330000000000000)) -
              hn::IfThenElse(tiny, constant(0x1p52 + 1023 + 54), constant(0x1p52 + 1023));

  const auto beyond = m > constant(0x1.3988e1409212ep0);  // sqrt(3/2)
  const V base = hn::IfThenElse(beyond, constant(1.5), one);
  const V difference = m - base, sum = m + base;
  const V inverse = one / sum;
  const V s = difference * inverse, s_high = high_half(s), sum_high = high_half(sum);
  const V sum_low = m - (sum_high - base);
  const V s_low =
      inverse * hn::NegMulAdd(s_high, sum_low, hn::NegMulAdd(s_high, sum_high, difference));

  // s (3 + s^2 + ...)
  const V square = s * s, square_high = s_high * s_high;
  const V rest = hn::MulAdd(square * square, polynomial(square, kSeries), s_low * (s_high + s));
  const V series_high = high_half(three + square_high + rest);
  const V series_low = rest - ((series_high - three) - square_high);
  const V first = s_high * series_high;
  const V second = hn::MulAdd(s_low, series_high, series_low * s);
  const V high = high_half(first + second);
  const V low = second - (high - first);

  const V log_high = high * constant(kScaleHigh);
  const V log_low = hn::MulAdd(high, constant(kScaleLow), low * constant(kScaleHigh + kScaleLow)) +
                    hn::IfThenElse(beyond, constant(kBaseLow), zero);
  const V base_high = hn::IfThenElse(beyond, constant(kBaseHigh), zero);
  const V result = high_half(((log_high + log_low) + base_high) + k);
  return {result, log_low - (((result - k) - base_high) - log_high)};
}

// a^b = 2^(b log2 a), with the special cases of IEEE 754 for zeros, infinities and negative
// numbers.
struct Power {
  static HWY_INLINE V of(D, V a, V b) {
    constexpr double kGreatest = std::numeric_limits<double>::max();
    constexpr double kMost = 1100;  // 2^kMost overflows, and 2^-kMost is 0
    const V zero = constant(0), one = constant(1), size = hn::Abs(a);
    const Parts log = log2_of(size);
    const V finite = clamped(b, -kGreatest, kGreatest), b_high = high_half(finite);
    const V exponent = finite * log_limits(size, log.high + log.low);
    const auto usual = hn::Abs(exponent) < constant(kMost);
    const V high = hn::IfThenElse(usual, b_high * log.high, clamped(exponent, -kMost, kMost));
    const V low = hn::MulAdd(finite - b_high, log.high, finite * log.low);
    const V sum = high + constant(kRounder);
    const V r = (high - (sum - constant(kRounder))) + hn::IfThenElse(usual, low, zero);
    const V t = small_expm1(r * constant(kLn2), zero);
    const V result = scaled(t + one, bits_of(sum));
    return with_sign(a, b, or_nan(b, or_nan(exponent, result)));
  }

 private:
  // Only odd powers keep the sign; fractional powers of 0 and infinity are positive.
  static HWY_INLINE V with_sign(V a, V b, V of_size) {
    const V zero = constant(0), one = constant(1), half = b * constant(0.5);
    const auto whole = hn::Floor(b) == b, even = hn::Floor(half) == half;
    const V sign = hn::IfThenElse(even, one, hn::IfThenElse(whole, a, one));
    const V result = hn::CopySign(of_size, sign);
    const auto negative = hn::And(a < zero, constant(-kInfinity) < a);
    const V of_negative = hn::IfThenElse(whole, result, constant(kNan));
    return hn::IfThenElse(hn::Or(b == zero, a == one), one,
                          hn::IfThenElse(negative, of_negative, result));
  }
};

// Squares of large numbers would overflow, and those of small ones would underflow.
struct Hypot {
  static HWY_INLINE V of(D, V a, V b) {
    const V infinity = constant(kInfinity), one = constant(1);
    const V great = constant(0x1p600), small = constant(0x1p-600);
    const V x = hn::Abs(a), y = hn::Abs(b), larger = hn::Max(x, y);
    const auto is_great = larger > constant(0x1p500), is_small = larger < constant(0x1p-400);
    const V scale = hn::IfThenElse(is_great, small, hn::IfThenElse(is_small, great, one));
    const V back = hn::IfThenElse(is_great, great, hn::IfThenElse(is_small, small, one));
    const V u = x * scale, v = y * scale;
    const auto infinite = hn::Or(x == infinity, y == infinity);
    return hn::IfThenElse(infinite, infinity, hn::Sqrt(hn::MulAdd(u, u, v * v)) * back);
  }
};

// erf x - x for |x| <= 1/2.
HWY_INLINE V erf_beyond(V x) {
  constexpr std::array<double, 9> kSeries = {
      0.12837916709551256,    -0.37612638903183476,    0.11283791670925561,
      -0.026866170632954243,  0.005223977374062895,    -0.0008548297842497385,
      0.00012053339321400749, -1.4845952533032382e-05, 1.4726897879465962e-06};
  return x * polynomial(x * x, kSeries);
}
// erfc x for x from 1/2 on: e^(-x^2) (1 + h) / (1 + 2 x), with h a slowly varying function of (x -
// 3.5) / (x + 3.5). Above 27.5 it is 0.
HWY_INLINE V erfc_of_far(V x) {
  constexpr std::array<double, 22> kSeries = {
      0.2423492448711544,      -0.14000918013761943,    -0.010555596332218305,
      0.09751909515325828,     -0.11508959816019089,    0.08798315382487809,
      -0.04882332582792343,    0.019099330942220306,    -0.004215019907661692,
      -0.0003022678763691764,  0.0005643844183897591,   -0.00012151242180693337,
      -4.2782242812167696e-05, 2.4260913369220397e-05,  2.3283628177319124e-06,
      -3.8143029998765724e-06, -4.4353899180311985e-08, 6.000050132638891e-07,
      -7.808901572348374e-09,  -9.2882053592693e-08,    5.233856879240846e-10,
      1.0349401723277845e-08};
  const V one = constant(1), zero = constant(0), twice = x + x;
  const V below = one + twice;
  const V q = one / below;
  // The relative rounding error of 1 + 2 x and of its inverse.
  const V lost = hn::NegMulAdd(q, one - (below - twice), rest_of_division(one, below, q));
  const V h = polynomial((x - constant(3.5)) / (x + constant(3.5)), kSeries);
  const V x_high = high_half(x);
  const Reduced y = reduced(zero - x_high * x_high, (x_high - x) * (x_high + x));
  const V t = small_expm1(y.r, y.rest + lost);
  const V sum = hn::MulAdd(h, t, h) + t;
  return scaled(hn::MulAdd(q, sum, q), y.bits);
}
struct Erf {
  static HWY_INLINE V of(D, V x) {
    const V half = constant(0.5), size = hn::Abs(x);
    const V near = size + erf_beyond(size);
    const V far = constant(1) - erfc_of_far(clamped(size, 0.5, 6));
    return or_nan(x, hn::CopySign(hn::IfThenElse(size < half, near, far), x));
  }
};
struct Erfc {
  static HWY_INLINE V of(D, V x) {
    const V half = constant(0.5), size = hn::Abs(x);
    const V near = half - (erf_beyond(x) + (x - half));
    const V far = erfc_of_far(clamped(size, 0.5, 27.5));
    const V of_size = hn::IfThenElse(x < constant(0), constant(2) - far, far);
    return or_nan(x, hn::IfThenElse(size < half, near, of_size));
  }
};

}  // namespace wide
}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();
