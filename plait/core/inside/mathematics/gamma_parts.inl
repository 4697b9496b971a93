// Helpers for functions built from Γ. The names are those of shared_names.h.
SHARED_TEXT(

    // From this argument on, Stirling's series is accurate to full precision.
    constexpr double kStirling = 16;

    // log(1 + u) − u, with full relative accuracy.
    SHARED Wide log1p_rest(Wide u) {
      if (abs(u) > LITERAL(0.4)) return log1p(u) - u;
      // log(1 + u) = 2 artanh r, and 2 r − u = −u r.
      const Wide r = u / (2 + u), square = r * r;
      Wide sum = 0;
      for (int k = 37; k >= 3; k -= 2) sum = sum * square + Wide(1) / k;
      return 2 * r * square * sum - u * r;
    }

    // log Γ(1 + a) for a > −1, with full relative accuracy near 0.
    SHARED Wide log_gamma_of_one_and(Wide a) {
      if (abs(a) > LITERAL(0.25)) return log_gamma_of_positive(1 + a);
      // log Γ(1 + a) = (1 − γ) a − log(1 + a) + Σ (ζ(k) − 1) (−a)^k / k, k = 2, 3, …
      Wide sum = 0;
      for (int i = 22; i-- > 0;) sum = log_gamma_series(i) - a * sum;
      return (1 - kEuler) * a - log1p(a) + a * a * sum;
    }

    // log Γ(a) − (a − ½) log a + a − ½ log 2π, for a ≥ kStirling.
    SHARED Wide stirling_rest(Wide a) {
      constexpr Part kSeries[8] = {LITERAL(1.0) / 12,   LITERAL(-1.0) / 360,
                                   LITERAL(1.0) / 1260, LITERAL(-1.0) / 1680,
                                   LITERAL(1.0) / 1188, LITERAL(-691.0) / 360360,
                                   LITERAL(1.0) / 156,  LITERAL(-3617.0) / 122400};
      const Wide square = 1 / (a * a);
      Wide sum = 0;
      for (int i = 8; i-- > 0;) sum = sum * square + kSeries[i];
      return sum / a;
    }

    // log B(a, b) for a, b > 0.
    SHARED Wide log_beta_of_positive(Wide first, Wide second) {
      const bool is_ordered = !(first > second);
      const Wide a = is_ordered ? first : second;
      const Wide b = is_ordered ? second : first;
      if (b < kStirling) {
        // For a tiny a, whose reciprocal may overflow in a double: log(1 / a + 1 / b) = −log a.
        const Wide last = a < LITERAL(1e-290) && b > LITERAL(1e-200) ? -log(a) : log(1 / a + 1 / b);
        return log_gamma_of_one_and(a) + log_gamma_of_one_and(b) - log_gamma_of_one_and(a + b) +
               last;
      }
      // log Γ(b) − log Γ(a + b) with Stirling's series.
      const Wide ratio = a / b;
      const Wide fall = -a * log(a + b) - b * log1p_rest(ratio) + log1p(ratio) / 2 +
                        stirling_rest(b) - stirling_rest(a + b);
      if (a < kStirling) return log_gamma_of_one_and(a) - log(a) + fall;
      const Wide half_of_log = log(2 * kPi) / 2;
      return (a - LITERAL(0.5)) * log(a) - a + half_of_log + stirling_rest(a) + fall;
    }

    // log |B(a, b)|.
    SHARED double log_beta(double a, double b) {
      if (a > 0 && b > 0) {
        if (is_infinite(a) || is_infinite(b)) return -kInfinity;
        return to_double(log_beta_of_positive(a, b));
      }
      if (a >= 0 && b >= 0) return kInfinity;
      return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
    }

    // ψ(x) for x > 0: ln x − 1/(2x) − Σ B_2k / (2k x^2k), from where this is exact. In Wide, since
    // the terms cancel near the zero of the function.
    SHARED Wide digamma_of_positive(Wide x) {
      constexpr Part kSeries[8] = {
          LITERAL(1.0) / 12,  LITERAL(-1.0) / 120,     LITERAL(1.0) / 252, LITERAL(-1.0) / 240,
          LITERAL(1.0) / 132, LITERAL(-691.0) / 32760, LITERAL(1.0) / 12,  LITERAL(-3617.0) / 8160};
      Wide below = 0;
      for (; x < 16; x = x + 1) below = below + 1 / x;
      const Wide square = 1 / (x * x);
      Wide sum = 0;
      for (int i = 8; i-- > 0;) sum = (sum + kSeries[i]) * square;
      return log(x) - 1 / (2 * x) - sum - below;
    }

)
