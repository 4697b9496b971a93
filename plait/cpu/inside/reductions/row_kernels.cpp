// Softmax and standardisation of one row. Sums are accumulated in lanes within blocks, and in f64
// over blocks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/reductions/row_kernels.cpp"
#include "plait/cpu/inside/reductions/row_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plait/cpu/inside/elementwise/wide_functions.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kBlock = 4096;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using Lane = hn::Vec<Tag<T>>;
template <class T>
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Tag<T>()));

template <class T>
HWY_INLINE Lane<T> all(T value) {
  return hn::Set(Tag<T>(), value);
}

// e^x for x <= 0, and NaN for NaN. 2^n is scaled by 2^64, so that it is normal even if the result
// is not.
HWY_INLINE Lane<float> exp_of_negative(Lane<float> x) {
  const single::Reduced y = single::reduced(hn::Max(x, all(-110.0F)));
  const Lane<float> power = single::power_of_two(y, 64);
  return single::or_nan(x, hn::MulAdd(single::small_expm1(y.r), power, power) * all(0x1p-64F));
}
HWY_INLINE Lane<double> exp_of_negative(Lane<double> x) { return wide::Exp::of(Tag<double>(), x); }

// Calls step(values, at, count) for all elements, a vector at a time; the last vector may be padded
// with zeros.
template <class T, class Step>
HWY_INLINE void each_vector(const T* x, int64_t begin, int64_t end, const Step& step) {
  int64_t i = begin;
  for (; i + kLanes<T> <= end; i += kLanes<T>) step(hn::LoadU(Tag<T>(), x + i), i, kLanes<T>);
  if (i == end) return;
  T rest[kLanes<T>] = {};
  std::copy(x + i, x + end, rest);
  step(hn::LoadU(Tag<T>(), rest), i, end - i);
}

template <class T>
HWY_INLINE void store(Lane<T> values, T* out, int64_t count) {
  if (count == kLanes<T>) return hn::StoreU(values, Tag<T>(), out);
  T lanes[kLanes<T>];
  hn::StoreU(values, Tag<T>(), lanes);
  std::copy_n(lanes, count, out);
}

// The sum of map(values, at, count).
template <class T, class Map>
HWY_INLINE double sum_of(const T* x, int64_t count, const Map& map) {
  double total = 0;
  T lanes[kLanes<T>];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, count);
    Lane<T> even = all(T(0)), odd = all(T(0));
    each_vector(x, begin, end, [&](Lane<T> values, int64_t at, int64_t filled) HWY_ATTR {
      const Lane<T> mapped = map(values, at, filled);
      if (filled == kLanes<T>) {
        const Lane<T> before = even;
        even = odd + mapped;
        odd = before;
        return;
      }
      hn::StoreU(mapped, Tag<T>(), lanes);
      for (int64_t i = 0; i < filled; ++i) total += static_cast<double>(lanes[i]);
    });
    hn::StoreU(even + odd, Tag<T>(), lanes);
    for (const T lane : lanes) total += static_cast<double>(lane);
  }
  return total;
}

// For numbers; unspecified if there is a NaN.
template <class T>
T greatest_of(const T* x, int64_t count) {
  constexpr T kLeast = -std::numeric_limits<T>::infinity();
  Lane<T> even = all(kLeast), odd = even;
  T rest = kLeast;
  each_vector(x, 0, count, [&](Lane<T> values, int64_t at, int64_t filled) HWY_ATTR {
    if (filled == kLanes<T>) {
      const Lane<T> before = even;
      even = hn::Max(odd, values);
      odd = before;
      return;
    }
    for (int64_t i = at; i < count; ++i) rest = std::max(rest, x[i]);
  });
  T lanes[kLanes<T>];
  hn::StoreU(hn::Max(even, odd), Tag<T>(), lanes);
  return std::max(rest, *std::max_element(std::begin(lanes), std::end(lanes)));
}

template <class T>
void softmax(const T* x, T* out, int64_t count, bool masked_is_zero) {
  T greatest = greatest_of(x, count);
  if (masked_is_zero && greatest == -std::numeric_limits<T>::infinity()) greatest = 0;
  const Lane<T> shift = all(greatest);
  const double total = sum_of(x, count, [&](Lane<T> values, int64_t at, int64_t filled) HWY_ATTR {
    const Lane<T> power = exp_of_negative(values - shift);
    store(power, out + at, filled);
    return power;
  });
  const Lane<T> factor = all(static_cast<T>(masked_is_zero && total == 0 ? 0 : 1 / total));
  each_vector(out, 0, count, [&](Lane<T> values, int64_t at, int64_t filled) HWY_ATTR {
    store(values * factor, out + at, filled);
  });
}

template <class T>
void log_softmax(const T* x, T* out, int64_t count) {
  const Lane<T> shift = all(greatest_of(x, count));
  const double total = sum_of(x, count, [&](Lane<T> values, int64_t, int64_t) HWY_ATTR {
    return exp_of_negative(values - shift);
  });
  const Lane<T> log = all(static_cast<T>(std::log(total)));
  each_vector(x, 0, count, [&](Lane<T> values, int64_t at, int64_t filled) HWY_ATTR {
    store((values - shift) - log, out + at, filled);
  });
}

template <class T>
T standardize(const T* x, T* out, int64_t count, bool is_centred, double epsilon) {
  if (count == 0) return std::numeric_limits<T>::quiet_NaN();
  const auto size = static_cast<double>(count);
  T mean = 0;
  if (is_centred) {
    // Relative to the first element, so that the mean of a constant row is exact.
    const Lane<T> first = all(x[0]);
    const double rest =
        sum_of(x, count, [&](Lane<T> values, int64_t, int64_t) HWY_ATTR { return values - first; });
    mean = static_cast<T>(static_cast<double>(x[0]) + rest / size);
  }
  const Lane<T> middle = all(mean);
  const double squares = sum_of(x, count, [&](Lane<T> values, int64_t, int64_t) HWY_ATTR {
    const Lane<T> distance = values - middle;
    return distance * distance;
  });
  const auto scale = static_cast<T>(1 / std::sqrt(squares / size + epsilon));
  const Lane<T> factor = all(scale);
  each_vector(x, 0, count, [&](Lane<T> values, int64_t at, int64_t filled) HWY_ATTR {
    store((values - middle) * factor, out + at, filled);
  });
  return scale;
}

}  // namespace

void add_row_kernels(AllRowKernels& kernels) {
  kernels.f32 = {softmax<float>, log_softmax<float>, standardize<float>};
  kernels.f64 = {softmax<double>, log_softmax<double>, standardize<double>};
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const std::array<void (*)(AllRowKernels&), kCpuLevelCount> kRowKernels = {
    PLAIT_EACH_LEVEL(add_row_kernels)};

}  // namespace plait::cpu
#endif
