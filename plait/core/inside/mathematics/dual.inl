// Dual numbers: a value and its derivative (forward-mode differentiation). The names are those of
// shared_names.h.
SHARED_TEXT(

    struct alignas(16) Dual {
      Wide value, slope;

      SHARED_SMALL Dual(Wide number, Wide derivative = 0) : value(number), slope(derivative) {}
      friend SHARED_SMALL Dual operator+(Dual a, Dual b) {
        return {a.value + b.value, a.slope + b.slope};
      }
      friend SHARED_SMALL Dual operator-(Dual a, Dual b) {
        return {a.value - b.value, a.slope - b.slope};
      }
      friend SHARED_SMALL Dual operator*(Dual a, Dual b) {
        return {a.value * b.value, a.slope * b.value + a.value * b.slope};
      }
      friend SHARED_SMALL Dual operator/(Dual a, Dual b) {
        const Wide quotient = a.value / b.value;
        return {quotient, (a.slope - quotient * b.slope) / b.value};
      }
    };

    // True if a term still changes the sum; false for NaN.
    SHARED_SMALL bool matters(Wide part, Wide whole) {
      return abs(part) > kNegligible * abs(whole);
    } SHARED_SMALL bool matters(Dual part, Dual whole) {
      return matters(part.value, whole.value) || matters(part.slope, whole.slope);
    }

    // True if a factor is 1 up to rounding, or NaN.
    SHARED_SMALL bool is_one(Wide factor) {
      return !(abs(factor - 1) > kNearOne);
    } SHARED_SMALL bool is_one(Dual factor) {
      return is_one(factor.value) && !(abs(factor.slope) > kNearOne);
    }

)
