// Dual numbers: a value and its derivative (forward-mode differentiation).
#pragma once

#include <cmath>

namespace plait::special {

struct Dual {
  long double value, slope = 0;

  Dual(long double number, long double derivative = 0)  // NOLINT: numbers are constants
      : value(number), slope(derivative) {}
  friend Dual operator+(const Dual& a, const Dual& b) {
    return {a.value + b.value, a.slope + b.slope};
  }
  friend Dual operator-(const Dual& a, const Dual& b) {
    return {a.value - b.value, a.slope - b.slope};
  }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const long double quotient = a.value / b.value;
    return {quotient, (a.slope - quotient * b.slope) / b.value};
  }
};

// True if a term still changes the sum; false for NaN.
inline bool matters(long double part, long double whole) {
  return std::abs(part) > 1e-19L * std::abs(whole);
}
inline bool matters(const Dual& part, const Dual& whole) {
  return matters(part.value, whole.value) || matters(part.slope, whole.slope);
}

// True if a factor is 1 up to rounding, or NaN.
inline bool is_one(long double factor) { return !(std::abs(factor - 1) > 5e-19L); }
inline bool is_one(const Dual& factor) {
  return is_one(factor.value) && !(std::abs(factor.slope) > 5e-19L);
}

}  // namespace plait::special
