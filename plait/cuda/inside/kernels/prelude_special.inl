R"cuda(
// ---- Special functions, by the formulas of core/inside/mathematics, in f64.
namespace op {

#define ROUNDED(name) INLINE f32 name(f32 x) { return (f32)name((f64)x); }
#define ROUNDED_OF_TWO(name) INLINE f32 name(f32 a, f32 b) { return (f32)name((f64)a, (f64)b); }

// The modified Bessel functions: e^-|x| times them where `is_scaled`.
__device__ __noinline__ f64 bessel_i(int order, f64 x, bool is_scaled) {
  if (x != x) return x;
  const f64 size = fabs(x), sign = order == 1 && signbit(x) ? -1. : 1.;
  if (size > 1.7976931348623157e308) return sign * (is_scaled ? 0. : size);
  f64 term = 1, sum = 1;
  if (size < 20) {
    const f64 square = size * size / 4;
    term = order == 0 ? 1. : size / 2;
    sum = term;
    for (int k = 1; term > sum * 1e-18; ++k) {
      term *= square / ((f64)k * (k + order));
      sum += term;
    }
    return sign * sum * (is_scaled ? ::exp(-size) : 1.);
  }
  for (int k = 1; fabs(term) > 1e-18; ++k) {
    const int odd = 2 * k - 1;
    const f64 next = term * (odd * odd - 4 * order) / (8 * k * size);
    if (fabs(next) >= fabs(term)) break;
    term = next;
    sum += term;
  }
  // In two factors, since e^x may overflow where the product does not.
  const f64 half = is_scaled ? 1. : ::exp(size / 2);
  return sign * (sum / ::sqrt(6.28318530717958647693 * size) * half * half);
}
INLINE f64 i0(f64 x) { return bessel_i(0, x, false); }
INLINE f64 i1(f64 x) { return bessel_i(1, x, false); }
INLINE f64 i0e(f64 x) { return bessel_i(0, x, true); }
INLINE f64 i1e(f64 x) { return bessel_i(1, x, true); }
ROUNDED(i0) ROUNDED(i1) ROUNDED(i0e) ROUNDED(i1e)

// Hurwitz' zeta for s > 1 and x > 0: the first terms, then the Euler-Maclaurin formula.
__device__ __noinline__ f64 hurwitz_zeta(f64 s, f64 x) {
  f64 sum = 0;
  for (const f64 far = 12 + s; x < far; x += 1) {
    const f64 term = ::pow(x, -s);
    sum += term;
    if (!(term * far > 1e-18 * sum * (s - 1))) return sum;
  }
  if (x > 1.7976931348623157e308) return 0;
  sum += ::pow(x, 1 - s) / (s - 1) + ::pow(x, -s) / 2;
  const f64 bernoulli[8] = {1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66, -691. / 2730, 7. / 6, -3617. / 510};
  f64 factor = s * ::pow(x, -s - 1), factorial = 2;
  for (int k = 0; k < 8; ++k) {
    sum += bernoulli[k] / factorial * factor;
    const f64 next = s + 2 * k + 1;
    factor *= next * (next + 1) / (x * x);
    factorial *= (2. * k + 3) * (2. * k + 4);
  }
  return sum;
}
// The same for an integer s and x < 0 that is none.
INLINE f64 zeta_below(f64 s, f64 x) {
  const f64 sign = ::fmod(s, 2.) == 1 ? -1. : 1.;
  return (hurwitz_zeta(s, x - ::floor(x)) + sign * hurwitz_zeta(s, ::ceil(x) - x)) - sign * hurwitz_zeta(s, 1 - x);
}
INLINE f64 zeta(f64 x, f64 q) {
  const f64 infinity = double_of(0x7ff0000000000000ull), nan = double_of(0x7ff8000000000000ull);
  if (q != q || !(x >= 1)) return nan;
  if (x == 1) return infinity;
  if (q > 0) return hurwitz_zeta(x, q);
  if (q == ::floor(q)) return infinity;
  return x != ::floor(x) ? nan : zeta_below(x, q);
}
INLINE f64 polygamma(f64 n, f64 x) {
  const f64 infinity = double_of(0x7ff0000000000000ull), nan = double_of(0x7ff8000000000000ull);
  if (n == 0) return digamma(x);
  if (!(n > 0) || n != ::floor(n) || x != x) return nan;
  const bool is_odd = ::fmod(n, 2.) == 1;
  if (x == 0) return is_odd ? infinity : ::copysign(infinity, -x);
  if (x == -infinity) return nan;
  if (x < 0 && x == ::floor(x)) return is_odd ? infinity : nan;
  const f64 sum = x > 0 ? hurwitz_zeta(n + 1, x) : zeta_below(n + 1, x);
  const f64 factorial = ::tgamma(n + 1);
  const f64 size = factorial < infinity ? factorial * sum : ::exp(::lgamma(n + 1) + ::log(sum));
  return is_odd ? size : -size;
}
ROUNDED_OF_TWO(zeta) ROUNDED_OF_TWO(polygamma)
#undef ROUNDED
#undef ROUNDED_OF_TWO
}  // namespace op
)cuda"
