// Operations on complex numbers, as in NumPy; c64 is computed in c128, except for sums and
// products. Also operations on keys, which have the same size.
#include <cmath>
#include <complex>
#include <limits>

#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/cpu_kernels.h"

namespace plait::cpu {
namespace {

using Complex = std::complex<double>;

// The plain formula: std::complex would also recover infinities.
template <class C>
C product(C a, C b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}
// Smith's method, which avoids overflow.
Complex quotient(Complex a, Complex b) {
  const double real = std::abs(b.real()), imag = std::abs(b.imag());
  if (real == 0 && imag == 0) return {a.real() / real, a.imag() / real};
  if (real >= imag) {
    const double ratio = b.imag() / b.real(), scale = 1 / (b.real() + b.imag() * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  const double ratio = b.real() / b.imag(), scale = 1 / (b.imag() + b.real() * ratio);
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}
Complex reciprocal(Complex a) { return quotient(1, a); }
Complex rsqrt(Complex a) { return reciprocal(std::sqrt(a)); }

Complex whole_power(Complex base, int exponent) {
  Complex result = 1;
  for (int rest = std::abs(exponent); rest != 0; rest /= 2) {
    if (rest % 2 != 0) result = product(result, base);
    base = product(base, base);
  }
  return exponent < 0 ? reciprocal(result) : result;
}

// Small integer exponents by multiplication; 0 only has powers with positive exponents.
Complex power(Complex base, Complex exponent) {
  constexpr int kMostWhole = 100;
  if (exponent == Complex(0)) return 1;
  if (base == Complex(0)) {
    if (exponent.real() > 0) return 0;
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return {kNan, kNan};
  }
  const double real = exponent.real();
  if (exponent.imag() == 0 && std::abs(real) <= kMostWhole && real == std::trunc(real)) {
    return whole_power(base, static_cast<int>(real));
  }
  return std::pow(base, exponent);
}

Complex sign(Complex a) {
  const double size = std::hypot(a.real(), a.imag());
  return size == 0 ? Complex(0) : Complex(a.real() / size, a.imag() / size);
}
double absolute(Complex a) { return std::hypot(a.real(), a.imag()); }

template <class C>
C add(C a, C b) {
  return a + b;
}
template <class C>
C subtract(C a, C b) {
  return a - b;
}
template <class C>
C negative(C a) {
  return -a;
}
template <class C>
C square(C a) {
  return product(a, a);
}
template <class C>
C conjugate(C a) {
  return {a.real(), -a.imag()};
}
template <class C>
typename C::value_type real(C a) {
  return a.real();
}
template <class C>
typename C::value_type imag(C a) {
  return a.imag();
}

template <class T>
bool equal(T a, T b) {
  return a == b;
}
template <class T>
bool not_equal(T a, T b) {
  return !(a == b);
}
template <class C>
bool is_nan(C a) {
  return std::isnan(a.real()) || std::isnan(a.imag());
}
template <class C>
bool is_infinite(C a) {
  return std::isinf(a.real()) || std::isinf(a.imag());
}
template <class C>
bool is_finite(C a) {
  return std::isfinite(a.real()) && std::isfinite(a.imag());
}

// Argument is the type of the function; c64 is converted to it and back.
template <class Argument, class Out, class T, auto function>
void unary_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* a = reinterpret_cast<const T*>(in[0]);
  auto* to = reinterpret_cast<Out*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<Out>(function(Argument(a[i])));
}
template <class Argument, class Out, class T, auto function>
void binary_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* a = reinterpret_cast<const T*>(in[0]);
  const auto* b = reinterpret_cast<const T*>(in[1]);
  auto* to = reinterpret_cast<Out*>(out);
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<Out>(function(Argument(a[i]), Argument(b[i])));
  }
}

template <class C, auto function, class Out = C>
void add_unary(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<C>, kDTypeOf<Out>, 1, unary_loop<C, Out, C, function>});
}
template <class C, auto function, class Out = C>
void add_binary(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<C>, kDTypeOf<Out>, 2, binary_loop<C, Out, C, function>});
}

using Function = Complex (*)(const Complex&);
template <class C, Function function>
void add_library_function(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<C>, kDTypeOf<C>, 1, unary_loop<Complex, C, C, function>});
}
template <class C, Complex (*function)(Complex)>
void add_function(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<C>, kDTypeOf<C>, 1, unary_loop<Complex, C, C, function>});
}
template <class C, Complex (*function)(Complex, Complex)>
void add_function(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<C>, kDTypeOf<C>, 2, binary_loop<Complex, C, C, function>});
}

template <class C>
void add_arithmetic(Kernels& kernels) {
  using Real = typename C::value_type;
  add_binary<C, add<C>>(kernels, "add");
  add_binary<C, subtract<C>>(kernels, "subtract");
  add_binary<C, product<C>>(kernels, "multiply");
  add_function<C, quotient>(kernels, "divide");
  add_function<C, power>(kernels, "power");
  add_unary<C, negative<C>>(kernels, "negative");
  add_unary<C, square<C>>(kernels, "square");
  add_unary<C, conjugate<C>>(kernels, "conjugate");
  add_unary<C, real<C>, Real>(kernels, "real");
  add_unary<C, imag<C>, Real>(kernels, "imag");
  kernels.push_back(
      {"absolute", kDTypeOf<C>, kDTypeOf<Real>, 1, unary_loop<Complex, Real, C, absolute>});
  add_function<C, sign>(kernels, "sign");
  add_function<C, reciprocal>(kernels, "reciprocal");
  add_binary<C, equal<C>, bool>(kernels, "equal");
  add_binary<C, not_equal<C>, bool>(kernels, "not_equal");
  add_unary<C, is_nan<C>, bool>(kernels, "is_nan");
  add_unary<C, is_infinite<C>, bool>(kernels, "is_infinite");
  add_unary<C, is_finite<C>, bool>(kernels, "is_finite");
}

template <class C>
void add_functions(Kernels& kernels) {
  add_function<C, rsqrt>(kernels, "rsqrt");
  add_library_function<C, std::sqrt<double>>(kernels, "sqrt");
  add_library_function<C, std::exp<double>>(kernels, "exp");
  add_library_function<C, std::log<double>>(kernels, "log");
  add_library_function<C, std::sin<double>>(kernels, "sin");
  add_library_function<C, std::cos<double>>(kernels, "cos");
  add_library_function<C, std::tan<double>>(kernels, "tan");
  add_library_function<C, std::asin<double>>(kernels, "asin");
  add_library_function<C, std::acos<double>>(kernels, "acos");
  add_library_function<C, std::atan<double>>(kernels, "atan");
  add_library_function<C, std::sinh<double>>(kernels, "sinh");
  add_library_function<C, std::cosh<double>>(kernels, "cosh");
  add_library_function<C, std::tanh<double>>(kernels, "tanh");
  add_library_function<C, std::asinh<double>>(kernels, "asinh");
  add_library_function<C, std::acosh<double>>(kernels, "acosh");
  add_library_function<C, std::atanh<double>>(kernels, "atanh");
}

// For any dtype of 16 bytes.
void select_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* condition = reinterpret_cast<const uint8_t*>(in[0]);
  const auto* yes = reinterpret_cast<const KeyBits*>(in[1]);
  const auto* no = reinterpret_cast<const KeyBits*>(in[2]);
  auto* to = reinterpret_cast<KeyBits*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = condition[i] != 0 ? yes[i] : no[i];
}

}  // namespace

void add_complex_kernels(Kernels& kernels) {
  add_arithmetic<std::complex<float>>(kernels);
  add_arithmetic<std::complex<double>>(kernels);
  add_functions<std::complex<float>>(kernels);
  add_functions<std::complex<double>>(kernels);
  kernels.push_back({"select", DType::c128, DType::c128, 3, select_loop});
  kernels.push_back({"select", DType::key, DType::key, 3, select_loop});
  add_binary<KeyBits, equal<KeyBits>, bool>(kernels, "equal");
  add_binary<KeyBits, not_equal<KeyBits>, bool>(kernels, "not_equal");
}

}  // namespace plait::cpu
