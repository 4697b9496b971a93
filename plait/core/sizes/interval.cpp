#include "plait/core/sizes/interval.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {

namespace {

// Represents an unknown end; 0 times it is 0, and no product of two ends overflows a WideInt.
constexpr WideInt kInfinity = WideInt{1} << 63;

WideInt wide_low(const Interval& a) { return a.low ? *a.low : -kInfinity; }
WideInt wide_high(const Interval& a) { return a.high ? *a.high : kInfinity; }

Interval narrowed(WideInt low, WideInt high) {
  Interval result;
  if (low >= kLeastSize) result.low = static_cast<int64_t>(std::min<WideInt>(low, kGreatestSize));
  if (high <= kGreatestSize)
    result.high = static_cast<int64_t>(std::max<WideInt>(high, kLeastSize));
  return result;
}

WideInt wide_quotient(WideInt a, WideInt b) {
  const bool opposite = (a < 0) != (b < 0);
  if (a == kInfinity || a == -kInfinity) return opposite ? -kInfinity : kInfinity;
  return floor_quotient(a, b);
}

Interval divide_by_positive(const Interval& a, WideInt least, WideInt greatest) {
  const WideInt low = wide_low(a), high = wide_high(a);
  return narrowed(wide_quotient(low, low < 0 ? least : greatest),
                  wide_quotient(high, high < 0 ? greatest : least));
}

}  // namespace

Interval operator+(const Interval& a, const Interval& b) {
  return narrowed(a.low && b.low ? WideInt{*a.low} + *b.low : -kInfinity,
                  a.high && b.high ? WideInt{*a.high} + *b.high : kInfinity);
}

Interval operator-(const Interval& a) { return narrowed(-wide_high(a), -wide_low(a)); }

Interval operator*(const Interval& a, const Interval& b) {
  const auto [low, high] = std::minmax({wide_low(a) * wide_low(b), wide_low(a) * wide_high(b),
                                        wide_high(a) * wide_low(b), wide_high(a) * wide_high(b)});
  return narrowed(low, high);
}

Interval floor_div(const Interval& a, const Interval& b) {
  const WideInt low = wide_low(b), high = wide_high(b);
  const auto by_positive = [&] { return divide_by_positive(a, std::max<WideInt>(low, 1), high); };
  const auto by_negative = [&] {  // a // b is -a // -b
    return divide_by_positive(-a, std::max<WideInt>(-high, 1), -low);
  };
  if (low < 0 && high > 0) return hull(by_positive(), by_negative());
  if (high > 0) return by_positive();
  if (low < 0) return by_negative();
  return {};
}

Interval mod(const Interval& a, const Interval& b) {
  const WideInt low = wide_low(b), high = wide_high(b);
  Interval result = narrowed(low < 0 ? low + 1 : 0, high > 0 ? high - 1 : 0);
  // A remainder by a divisor of the same sign is at most the dividend.
  if (low >= 0 && a.low && *a.low >= 0) result = intersect(result, {0, a.high});
  return result;
}

Interval max(const Interval& a, const Interval& b) {
  return narrowed(std::max(wide_low(a), wide_low(b)), std::max(wide_high(a), wide_high(b)));
}

Interval min(const Interval& a, const Interval& b) {
  return narrowed(std::min(wide_low(a), wide_low(b)), std::min(wide_high(a), wide_high(b)));
}

Interval intersect(const Interval& a, const Interval& b) {
  return narrowed(std::max(wide_low(a), wide_low(b)), std::min(wide_high(a), wide_high(b)));
}

Interval hull(const Interval& a, const Interval& b) {
  return narrowed(std::min(wide_low(a), wide_low(b)), std::max(wide_high(a), wide_high(b)));
}

}  // namespace plait
