// The modified Bessel functions of the first kind. The names are those of shared_names.h.
SHARED_TEXT(

    // Power series Σ (x/2)^(2k + order) / (k! (k + order)!); all terms are positive.
    SHARED Wide bessel_near_series(int order, Wide x) {
      const Wide square = x * x / 4;
      Wide term = order == 0 ? Wide(1) : x / 2;
      Wide sum = term;
      for (int k = 1; term > sum * LITERAL(1e-20); ++k) {
        term = term * (square / (Wide(k) * (k + order)));
        sum = sum + term;
      }
      return sum;
    }

    // Asymptotic series of e^−x √(2 π x) I(x) for large x.
    SHARED Wide bessel_far_series(int order, Wide x) {
      Wide term = 1;
      Wide sum = 1;
      for (int k = 1; abs(term) > LITERAL(1e-20); ++k) {
        const int odd = 2 * k - 1;
        const Wide next = term * (odd * odd - 4 * order) / (8 * k * x);
        if (abs(next) >= abs(term)) break;
        term = next;
        sum = sum + term;
      }
      return sum;
    }

    // From here on the asymptotic series is accurate enough.
    constexpr double kFarBessel = 20;

    // Scaled: multiplied by e^−|x|.
    SHARED double bessel_i(int order, double x, bool is_scaled) {
      if (is_nan(x)) return x;
      const double size = abs(x);
      const double sign = order == 1 ? copysign(1.0, x) : 1.0;
      if (is_infinite(x)) return sign * (is_scaled ? 0 : size);
      const Wide wide = size;
      if (size < kFarBessel) {
        const Wide value = bessel_near_series(order, wide) * (is_scaled ? exp(-wide) : Wide(1));
        return sign * to_double(value);
      }
      const Wide value = bessel_far_series(order, wide) / sqrt(2 * kPi * wide);
      if (is_scaled) return sign * to_double(value);
      // In two factors where e^x may overflow a double and the product does not.
      if (size > 700) return sign * to_double(value * exp(wide / 2) * exp(wide / 2));
      return sign * to_double(value * exp(wide));
    }

    SHARED double bessel_i0(double x) {
      return bessel_i(0, x, false);
    } SHARED double bessel_i1(double x) {
      return bessel_i(1, x, false);
    } SHARED double scaled_bessel_i0(double x) {
      return bessel_i(0, x, true);
    } SHARED double scaled_bessel_i1(double x) { return bessel_i(1, x, true); }

)
