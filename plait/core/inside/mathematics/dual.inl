// Dual numbers: a value and its derivative (forward-mode differentiation). The names are those of
// shared_names.h.
SHARED_TEXT(

struct Dual {
  Wide value, slope;

  SHARED Dual(const Wide& number, const Wide& derivative = 0) : value(number), slope(derivative) {}
  friend SHARED Dual operator+(const Dual& a, const Dual& b) {
    return {a.value + b.value, a.slope + b.slope};
  }
  friend SHARED Dual operator-(const Dual& a, const Dual& b) {
    return {a.value - b.value, a.slope - b.slope};
  }
  friend SHARED Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
  }
  friend SHARED Dual operator/(const Dual& a, const Dual& b) {
    const Wide quotient = a.value / b.value;
    return {quotient, (a.slope - quotient * b.slope) / b.value};
  }
};

// True if a term still changes the sum; false for NaN.
SHARED bool matters(const Wide& part, const Wide& whole) {
  return abs(part) > kNegligible * abs(whole);
}
SHARED bool matters(const Dual& part, const Dual& whole) {
  return matters(part.value, whole.value) || matters(part.slope, whole.slope);
}

// True if a factor is 1 up to rounding, or NaN.
SHARED bool is_one(const Wide& factor) { return !(abs(factor - 1) > kNearOne); }
SHARED bool is_one(const Dual& factor) {
  return is_one(factor.value) && !(abs(factor.slope) > kNearOne);
}

)
