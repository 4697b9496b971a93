// Conversions of floats to integers, bool and complex numbers, conversions between common dtypes,
// and the parts of conversions to narrow floats.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/elementwise/conversion_kernels.cpp"
#include <cmath>
#include <complex>
#include <limits>

#include "plait/cpu/inside/elementwise/conversion.h"
#include "plait/cpu/inside/elementwise/dense_loops.inl"
#include "plait/cpu/inside/elementwise/sticky_float.h"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

// Truncates and saturates; NaN becomes 0.
template <class Integer>
struct Saturated {
  template <class Real>
  static Integer of(Real x) {
    using Limits = std::numeric_limits<Integer>;
    constexpr int kMantissa = std::numeric_limits<Real>::digits;
    const Real end = std::ldexp(Real{1}, Limits::digits);
    // The greatest float below the end of the range.
    const Real last = kMantissa >= Limits::digits
                          ? end - 1
                          : end - std::ldexp(Real{1}, Limits::digits - kMantissa);
    const Real lowest = static_cast<Real>(Limits::lowest());
    const Real number = x == x ? x : Real{0};
    const Real above = number > lowest ? number : lowest;
    const auto inside = static_cast<Integer>(above < last ? above : last);
    return number >= end ? Limits::max() : inside;
  }
};
struct IsNotZero {
  template <class T>
  static uint8_t of(T x) {
    return x != 0;
  }
};
// Stores convert.
struct Cast {
  template <class T>
  static T of(T x) {
    return x;
  }
};
struct Sticky {
  template <class T>
  static float of(T x) {
    return sticky_float(static_cast<double>(x));
  }
};

template <class Op, class To, class From>
void add(Conversions& table, DType from, DType to) {
  table.push_back({from, to, unary_loop<Op, To, From>});
}

template <class Real, class... Integer>
void add_to_integers(Conversions& table) {
  (add<Saturated<Integer>, Integer, Real>(table, kDTypeOf<Real>, kDTypeOf<Integer>), ...);
}
template <class... From>
void add_to_bool(Conversions& table) {
  (add<IsNotZero, uint8_t, From>(table, kDTypeOf<From>, DType::boolean), ...);
}
template <class... From>
void add_to_complex(Conversions& table) {
  (add<Cast, std::complex<float>, From>(table, kDTypeOf<From>, DType::c64), ...);
  (add<Cast, std::complex<double>, From>(table, kDTypeOf<From>, DType::c128), ...);
}
template <class To, class... From>
void add_casts(Conversions& table) {
  (add<Cast, To, From>(table, kDTypeOf<From>, kDTypeOf<To>), ...);
}
template <class... From>
void add_sticky(Conversions& table) {
  (add<Sticky, float, From>(table, kDTypeOf<From>, DType::f32), ...);
}

}  // namespace

void add_conversions(Conversions& table) {
  add_to_integers<float, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(
      table);
  add_to_integers<double, int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>(
      table);
  add_to_bool<float, double, int8_t, int16_t, int32_t, int64_t>(table);
  add_casts<float, int32_t, int64_t, uint8_t, double>(table);
  add_casts<double, int32_t, int64_t, uint8_t, float>(table);
  add_casts<int32_t, int64_t, uint8_t>(table);
  add_casts<int64_t, int32_t, uint8_t>(table);
  add_casts<uint8_t, int32_t, int64_t>(table);
  add<Cast, float, uint8_t>(table, DType::boolean, DType::f32);
  add<Cast, int32_t, uint8_t>(table, DType::boolean, DType::i32);
  add<Cast, int64_t, uint8_t>(table, DType::boolean, DType::i64);
  add_to_complex<float, double, std::complex<float>, std::complex<double>>(table);
}

void add_sticky_conversions(Conversions& table) {
  add_casts<float, int8_t, int16_t, uint8_t, uint16_t>(table);
  add<Cast, float, uint8_t>(table, DType::boolean, DType::f32);
  add_sticky<int32_t, uint32_t, double>(table);
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<Conversions> kConversions = {PLAIT_EACH_LEVEL(add_conversions)};
constinit const EachLevel<Conversions> kStickyConversions = {
    PLAIT_EACH_LEVEL(add_sticky_conversions)};

}  // namespace plait::cpu
#endif
