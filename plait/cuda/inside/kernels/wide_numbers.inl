R"cuda(
// ---- Wide: a sum of two doubles, with about 100 bits, whose range is that of a double. An infinity
// or NaN is in `high`.
struct alignas(16) Wide {
  double high, low;

  INLINE Wide(double x = 0) : high(x), low(0) {}
  INLINE Wide(int x) : high(x), low(0) {}
  INLINE Wide(double first, double second) : high(first), low(second) {}
  INLINE Wide operator-() const { return Wide(-high, -low); }
};
typedef double Part;

INLINE bool has_no_rest(double x) { return x - x != 0; }
// first + second, where second is smaller.
INLINE Wide joined(double first, double second) {
  if (has_no_rest(first)) return Wide(first);
  const double high = first + second;
  return Wide(high, second - (high - first));
}
INLINE Wide operator+(const Wide& a, const Wide& b) {
  const double sum = a.high + b.high, of_b = sum - a.high;
  return joined(sum, (a.high - (sum - of_b)) + (b.high - of_b) + (a.low + b.low));
}
INLINE Wide operator-(const Wide& a, const Wide& b) { return a + -b; }
INLINE Wide operator*(const Wide& a, const Wide& b) {
  const double product = a.high * b.high;
  return joined(product, fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high));
}
__device__ __noinline__ Wide operator/(Wide a, Wide b) {
  const double quotient = a.high / b.high;
  if (quotient == 0 || has_no_rest(quotient)) return Wide(quotient);
  const double rest = fma(-quotient, b.high, a.high) + (a.low - quotient * b.low);
  return joined(quotient, rest / b.high);
}
INLINE bool operator==(const Wide& a, const Wide& b) { return a.high == b.high && a.low == b.low; }
INLINE bool operator<(const Wide& a, const Wide& b) { return a.high < b.high || (a.high == b.high && a.low < b.low); }
INLINE bool operator<=(const Wide& a, const Wide& b) { return a.high < b.high || (a.high == b.high && a.low <= b.low); }
INLINE bool operator>(const Wide& a, const Wide& b) { return b < a; }
INLINE bool operator>=(const Wide& a, const Wide& b) { return b <= a; }

INLINE double to_double(const Wide& x) { return x.high; }
INLINE Wide abs(const Wide& x) { return x.high < 0 ? -x : x; }
INLINE Wide copysign(const Wide& size, const Wide& sign) { return signbit(size.high) != signbit(sign.high) ? -size : size; }
INLINE Wide scaled(const Wide& x, int exponent) {
  const double high = ::ldexp(x.high, exponent);
  return has_no_rest(high) ? Wide(high) : Wide(high, ::ldexp(x.low, exponent));
}
__device__ __noinline__ Wide sqrt(Wide x) {
  const double root = ::sqrt(x.high);
  if (!(root > 0) || has_no_rest(root)) return Wide(root);
  return joined(root, (fma(-root, root, x.high) + x.low) / (2 * root));
}

// e^x - 1 for |x| <= 0.35: the power series at x / 16, then (e^x - 1) (e^x + 1) four times.
__device__ __noinline__ Wide small_expm1(Wide x) {
  if (fabs(x.high) < 1e-30) return x;
  const Wide r = scaled(x, -4);
  const double h = r.high;
  const double last =
      h * (1. / 120 + h * (1. / 720 + h * (1. / 5040 + h * (1. / 40320 + h * (1. / 362880 + h / 3628800)))));
  const Wide third = Wide(1. / 6, 9.25185853854297e-18), fourth = Wide(1. / 24, 2.3129646346357427e-18);
  Wide sum = r * (1 + r * (0.5 + r * (third + r * (fourth + last))));
  for (int i = 0; i < 4; ++i) sum = sum * (sum + 2);
  return sum;
}
#define LOG_OF_2 Wide(0.6931471805599453, 2.3190468138462996e-17)
__device__ __noinline__ Wide exp(Wide x) {
  if (!(x.high < 709.8)) return Wide(::exp(x.high));
  if (x.high < -746) return Wide(0);
  const double whole = ::rint(x.high * 1.4426950408889634);
  return scaled(1 + small_expm1(x - whole * LOG_OF_2), (int)whole);
}
__device__ __noinline__ Wide expm1(Wide x) { return fabs(x.high) < 0.35 ? small_expm1(x) : exp(x) - 1; }
// Newton's method for e^y = 1 + u, from the y of doubles.
__device__ __noinline__ Wide log1p(Wide u) {
  if (!(u.high > -1 && u.high < 1e300)) return Wide(::log1p(u.high));
  const double first = ::log1p(u.high);
  const Wide grown = expm1(Wide(first));
  return first + (u - grown) / (1 + grown);
}
__device__ __noinline__ Wide log(Wide x) {
  if (!(x.high > 0) || has_no_rest(x.high)) return Wide(::log(x.high));
  int exponent = 0;
  if (::frexp(x.high, &exponent) < 0.7071067811865476) --exponent;
  const Wide rest = log1p(scaled(x, -exponent) - 1);
  return exponent == 0 ? rest : (double)exponent * LOG_OF_2 + rest;
}
#undef LOG_OF_2
__device__ __noinline__ Wide erfc(Wide x) {
  return ::erfc(x.high) + Wide(-1.1283791670955126 * ::exp(-x.high * x.high) * x.low);
}

// For x > 0.
__device__ __noinline__ Wide pow(Wide x, Wide exponent) {
  const bool is_finite = !has_no_rest(x.high) && !has_no_rest(exponent.high);
  return is_finite ? exp(exponent * log(x)) : Wide(::pow(x.high, exponent.high));
}

#define kPi Wide(3.141592653589793, 1.2246467991473532e-16)
#define kEuler Wide(0.5772156649015329, -4.942915152430645e-18)
#define kInverseRootPi Wide(0.5641895835477563, 7.66772980658294e-18)
#define kNegligible 1e-19
#define kNearOne 5e-19
#define SHARED_SMALL __device__ __noinline__

INLINE Wide pi_over_tan_of_pi(const Wide& x) { return Wide(pi_over_tan_of_pi(x.high)); }

// log Gamma(x) for x >= 1: the recurrence to a large argument, then Stirling's series.
__device__ __noinline__ Wide stirling_rest(Wide a);
__device__ __noinline__ Wide log_gamma_of_positive(Wide x) {
  if (has_no_rest(x.high)) return Wide(::lgamma(x.high));
  Wide factor = 1;
  for (; x < 16; x = x + 1) factor = factor * x;
  const Wide half_log_of_two_pi = Wide(0.9189385332046728, -3.8782941580672414e-17);
  return (x - 0.5) * log(x) - x + half_log_of_two_pi + stirling_rest(x) - log(factor);
}
)cuda"
