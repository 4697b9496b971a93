// Operations that are computed element by element by functions of the C library, or in a loop of
// their own. f32 is computed in f64 and rounded.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "plait/core/inside/mathematics/special_functions.h"
#include "plait/core/inside/sizes/divisors.h"
#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/cpu_kernels.h"
#include "plait/cpu/inside/elementwise/float_division.h"

namespace plait::cpu {
namespace {

double log_add_exp2(double a, double b) {
  if (a == b) return a + 1;
  const double distance = a - b;
  if (std::isnan(distance)) return distance;
  return std::max(a, b) + std::log1p(std::exp2(-std::abs(distance))) * std::numbers::log2e;
}

// The codes of positive numbers have the same order as the numbers.
template <class Bits, FloatFormat format>
Bits next_code(Bits a, Bits b) {
  constexpr int kBits = 8 * sizeof(Bits);
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (kBits - 1));
  constexpr auto kMagnitudes = static_cast<Bits>(~kSign);
  constexpr auto kMantissas = static_cast<Bits>((Bits{1} << format.mantissa_bits) - 1);
  constexpr auto kLast =
      static_cast<Bits>(format.has_infinity ? kMagnitudes & ~kMantissas : kMagnitudes - 1);
  const auto size_a = static_cast<Bits>(a & kMagnitudes);
  const auto size_b = static_cast<Bits>(b & kMagnitudes);
  if (size_a > kLast) return a;  // NaN
  if (size_b > kLast || a == b || (size_a == 0 && size_b == 0)) return b;
  if (size_a == 0) return static_cast<Bits>((b & kSign) | 1);
  const bool outwards = (a & kSign) == (b & kSign) && size_b > size_a;
  return static_cast<Bits>(outwards ? a + 1 : a - 1);
}

template <class T, auto function>
void unary_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* a = reinterpret_cast<const T*>(in[0]);
  auto* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(function(a[i]));
}

template <class T, auto function>
void binary_loop(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* a = reinterpret_cast<const T*>(in[0]);
  const auto* b = reinterpret_cast<const T*>(in[1]);
  auto* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(function(a[i], b[i]));
}

template <class T, auto function>
void ternary_of(std::byte* out, const std::byte* const* in, int64_t count) {
  const auto* a = reinterpret_cast<const T*>(in[0]);
  const auto* b = reinterpret_cast<const T*>(in[1]);
  const auto* c = reinterpret_cast<const T*>(in[2]);
  auto* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(function(a[i], b[i], c[i]));
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);
using Ternary = double (*)(double, double, double);

template <class T, Unary function>
void add(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<T>, kDTypeOf<T>, 1, unary_loop<T, function>});
}
template <class T, auto function>
void add_binary(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, kDTypeOf<T>, kDTypeOf<T>, 2, binary_loop<T, function>});
}
template <Unary function>
void add_both(Kernels& kernels, std::string_view op) {
  add<float, function>(kernels, op);
  add<double, function>(kernels, op);
}
template <Binary function>
void add_both(Kernels& kernels, std::string_view op) {
  add_binary<float, function>(kernels, op);
  add_binary<double, function>(kernels, op);
}
template <Ternary function>
void add_both(Kernels& kernels, std::string_view op) {
  kernels.push_back({op, DType::f32, DType::f32, 3, ternary_of<float, function>});
  kernels.push_back({op, DType::f64, DType::f64, 3, ternary_of<double, function>});
}

template <class... T>
void add_divisors(Kernels& kernels) {
  (add_binary<T, common_divisor<T>>(kernels, "gcd"), ...);
  (add_binary<T, common_multiple<T>>(kernels, "lcm"), ...);
}

template <DType dtype, class Bits>
void add_next(Kernels& kernels) {
  constexpr FloatFormat kFormat = info_of(dtype).format;
  kernels.push_back({"nextafter", dtype, dtype, 2, binary_loop<Bits, next_code<Bits, kFormat>>});
}

// Functions that function_kernels.cpp has for f32, but not for f64.
void add_double_functions(Kernels& kernels) {
  add<double, special::erf_inverse>(kernels, "erfinv");
  add<double, special::log_gamma>(kernels, "lgamma");
  add<double, special::digamma>(kernels, "digamma");
  add_binary<double, static_cast<Binary>(std::fmod)>(kernels, "fmod");
  add_binary<double, remainder_of<double>>(kernels, "remainder");
  add_binary<double, floor_quotient<double>>(kernels, "floor_divide");
}

void add_special_functions(Kernels& kernels) {
  add_both<log_add_exp2>(kernels, "logaddexp2");
  add_both<special::entropy>(kernels, "entr");
  add_both<special::log_1_minus_exp>(kernels, "log1mexp");
  add_both<special::times_power_of_2>(kernels, "ldexp");
  add_both<special::exponent>(kernels, "exponent");
  add_both<special::scaled_erfc>(kernels, "erfcx");
  add_both<special::normal_cdf>(kernels, "ndtr");
  add_both<special::log_normal_cdf>(kernels, "log_ndtr");
  add_both<special::normal_quantile>(kernels, "ndtri");
  add_both<special::bessel_i0>(kernels, "i0");
  add_both<special::scaled_bessel_i0>(kernels, "i0e");
  add_both<special::bessel_i1>(kernels, "i1");
  add_both<special::scaled_bessel_i1>(kernels, "i1e");
  add_both<special::zeta>(kernels, "zeta");
  add_both<special::log_beta>(kernels, "betaln");
  add_both<special::gamma_p>(kernels, "gammainc");
  add_both<special::gamma_q>(kernels, "gammaincc");
  add_both<special::gamma_density>(kernels, "gamma_density");
  add_both<special::gamma_p_da>(kernels, "gammainc_grad_a");
  add_both<special::gamma_quantile_da>(kernels, "random_gamma_grad");
  add_both<special::betainc_value>(kernels, "betainc");
  add_both<special::betainc_da>(kernels, "betainc_grad_a");
  add_both<special::betainc_db>(kernels, "betainc_grad_b");
  add_both<special::beta_density>(kernels, "beta_density");
}

}  // namespace

void add_scalar_kernels(Kernels& kernels) {
  add_double_functions(kernels);
  add_both<special::polygamma>(kernels, "polygamma");
  add_special_functions(kernels);
  add_divisors<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(kernels);
  add_next<DType::f64, uint64_t>(kernels);
  add_next<DType::f32, uint32_t>(kernels);
  add_next<DType::f16, uint16_t>(kernels);
  add_next<DType::bf16, uint16_t>(kernels);
  add_next<DType::f8e4m3, uint8_t>(kernels);
  add_next<DType::f8e5m2, uint8_t>(kernels);
}

}  // namespace plait::cpu
