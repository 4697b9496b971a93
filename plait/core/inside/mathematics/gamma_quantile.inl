// The derivative of the logarithm of a gamma quantile x with respect to the shape a. With Q = 1 − P
// and L = log x,
//
//   dL/da = Q_a / (x^a e^−x / Γ(a)),
//
// and there are three forms of Q, none of which cancels where it is used. Each has the form x^a
// e^−x / Γ(a) · C, so that the derivative is C (L − ψ(a)) + C_a. The names are those of
// shared_names.h.
SHARED_TEXT(

    // A function of a and its derivative with respect to a.
    struct alignas(16) Slope { double value, slope; };
    SHARED_SMALL Slope operator+(Slope x, Slope y) {
      return {x.value + y.value, x.slope + y.slope};
    } SHARED_SMALL Slope operator*(Slope x, Slope y) {
      return {x.value * y.value, x.slope * y.value + x.value * y.slope};
    } SHARED_SMALL Slope operator/(Slope x, Slope y) {
      const double ratio = x.value / y.value;
      return {ratio, (x.slope - ratio * y.slope) / y.value};
    }

    constexpr double kExactSlope = 5.5511151231257827e-17;  // 2^−54

    // P = x^a e^−x / Γ(a + 1) · (1 + x / (a + 1) + x² / ((a + 1) (a + 2)) + …).
    SHARED double quantile_slope_by_series(double a, double log_x, double x) {
      Slope term = {1, 0};
      Slope sum = {1, 0};
      for (double n = 1; term.value > kExactSlope * sum.value; ++n) {
        term = term * (Slope{x, 0} / Slope{a + n, 1});
        sum = sum + term;
      }
      const double digamma = to_double(digamma_of_positive(a + 1));
      return -(sum.value * (log_x - digamma) + sum.slope) / a;
    }

    // Continued fraction Q = x^a e^−x / Γ(a) / (x + 1 − a − 1 (1 − a) / (x + 3 − a − 2 (2 − a) / (x
    // + 5 − a − …))), evaluated with Steed's method, which adds the change of each further level.
    SHARED double quantile_slope_by_fraction(double a, double log_x, double x) {
      Slope divisor = {x + 1 - a, -1};
      Slope ratio = Slope{1, 0} / divisor;  // ratio of a level's denominator to the next one
      Slope change = ratio;
      Slope sum = ratio;
      for (double n = 1; n < 10000; ++n) {
        const Slope numerator = {n * (a - n), n};
        divisor.value += 2;
        ratio = Slope{1, 0} / (divisor + numerator * ratio);
        change = change * (divisor * ratio + Slope{-1, 0});
        sum = sum + change;
        if (abs(change.value) <= kExactSlope * abs(sum.value) &&
            abs(change.slope) <= kExactSlope * abs(sum.slope)) {
          break;
        }
      }
      return sum.value * (log_x - to_double(digamma_of_positive(a))) + sum.slope;
    }

    // The part of the exponent below that bends.
    SHARED_SMALL double quantile_bend(double sign, double s) { return sign * s - log1p(sign * s); }

    constexpr int kQuadraturePoints = 32;

    // Γ(a, x) = x^a e^−x ∫ (1 + s)^(a − 1) e^(−x s) ds over s > 0; the lower incomplete function is
    // the integral of (1 − s)^(a − 1) e^(x s) over 0 < s < 1. The integrand decays from s = 0.
    // Everything is expressed with log(x / a), so that an error in it is an error of x, to which
    // the derivative is hardly sensitive. For large a.
    SHARED double quantile_slope_by_integral(double a, double log_ratio) {
      constexpr double kNothing = 38;  // e^−38
      const bool is_upper = log_ratio >= 0;
      const double sign = is_upper ? 1 : -1;
      // The exponent is −(fall s + (a − 1) (s − log(1 + s))); with opposite signs for the lower
      // one.
      const double fall = sign * (a * expm1(log_ratio) + 1);
      const double curve = a - 1;
      double end = 2 * kNothing / (fall + sqrt(fall * fall + 2 * kNothing * curve));
      for (int step = 0; step < 3; ++step) {
        const double drop = fall * end + curve * quantile_bend(sign, end) - kNothing;
        end -= drop / (fall + curve * end / (1 + sign * end));
      }
      const double square = 1 / (a * a);
      const double log_less_digamma =
          1 / (2 * a) + square * (1. / 12 - square * (1. / 120 - square / 252));
      double sum = 0;
      for (int i = 0; i < kQuadraturePoints; ++i) {
        const double s = end * quadrature_point(i);
        const double log_of = log1p(sign * s);
        const double weight = quadrature_weight(i) * exp(-fall * s - curve * (sign * s - log_of));
        sum += weight * (log_ratio + log_less_digamma + log_of);
      }
      return sign * sum * end;
    }

    // Temme ("Asymptotic inversion of incomplete gamma functions", 1992): √a (η + ε(η) / a) is a
    // normal quantile, where η²/2 = m − log(1 + m) for m = x/a − 1 and ε = log(η/m) / η. The
    // relative error is of order 1/a².
    SHARED double quantile_slope_of_huge(double a, double log_ratio) {
      const double m = expm1(log_ratio);
      const double first = m == 0 ? 1 : log_ratio / m;
      const double bent = abs(m) < 0.01 ? -1. / 6 + m * (1. / 12 - m / 20)
                                        : (1 - (1 + m) * 2 * (m - log_ratio) / (m * m)) / (2 * m);
      return (first - bent / a) / a;
    }

    SHARED double log_gamma_quantile_da(double a, double log_x) {
      constexpr double kLargeParameter = 100;
      constexpr double kHugeParameter = 1e6;
      if (is_nan(log_x) || !(a >= 0)) return kNan;
      const double x = exp(log_x);
      if (is_infinite(x) || is_infinite(a)) return 0;
      if (a > kHugeParameter) return quantile_slope_of_huge(a, log_x - log(a));
      if (a >= kLargeParameter) return quantile_slope_by_integral(a, log_x - log(a));
      return x < (a > 1 ? a : 1) ? quantile_slope_by_series(a, log_x, x)
                                 : quantile_slope_by_fraction(a, log_x, x);
    }

)
