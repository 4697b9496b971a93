// The Hurwitz zeta function, and the derivatives of log Γ. The names are those of shared_names.h.
SHARED_TEXT(

    // Hurwitz zeta Σ_k 1 / (x + k)^s for s > 1 and x > 0: the first terms, then the Euler-Maclaurin
    // formula for the rest.
    SHARED Wide hurwitz_zeta(Wide s, Wide x) {
      constexpr Part kBernoulli[8] = {
          LITERAL(1.0) / 6,  LITERAL(-1.0) / 30,     LITERAL(1.0) / 42, LITERAL(-1.0) / 30,
          LITERAL(5.0) / 66, LITERAL(-691.0) / 2730, LITERAL(7.0) / 6,  LITERAL(-3617.0) / 510};
      Wide sum = 0;
      for (const Wide far = 16 + s; x < far; x = x + 1) {
        const Wide term = pow(x, -s);
        sum = sum + term;
        // The rest is at most about term · far / (s − 1).
        if (!(term * far > kNegligible * sum * (s - 1))) return sum;
      }
      if (is_infinite(to_double(x))) return 0;
      sum = sum + (pow(x, 1 - s) / (s - 1) + pow(x, -s) / 2);
      Wide factor = s * pow(x, -s - 1);  // s (s + 1) … (s + 2k) x^(−s − 2k − 1)
      Wide factorial = 2;                // (2k + 2)!
      for (int k = 0; k < 8; ++k) {
        sum = sum + kBernoulli[k] / factorial * factor;
        const Wide next = s + 2 * Wide(k) + 1;
        factor = factor * (next * (next + 1) / (x * x));
        const Wide last = 2 * Wide(k) + 2;
        factorial = factorial * ((last + 1) * (last + 2));
      }
      return sum;
    }

    // The same for an integer s and a non-integer x < 0: the terms below 0 are those of two other
    // sums, with the sign (−1)^s.
    SHARED Wide zeta_below(double s, double x) {
      const Wide wide = x;
      const Wide above = wide - floor(x);
      const Wide below = ceil(x) - wide;
      const Wide sign = fmod(s, 2.0) == 1 ? -1 : 1;
      return (hurwitz_zeta(s, above) + sign * hurwitz_zeta(s, below)) -
             sign * hurwitz_zeta(s, 1 - wide);
    }

    SHARED double zeta(double x, double q) {
      if (is_nan(q) || !(x >= 1)) return kNan;
      if (x == 1) return kInfinity;
      if (q > 0) return to_double(hurwitz_zeta(x, q));
      if (q == floor(q)) return kInfinity;
      if (x != floor(x)) return kNan;
      return to_double(zeta_below(x, q));
    }

    SHARED double digamma(double x) {
      if (is_nan(x) || x == kInfinity) return x;
      if (x == 0) return copysign(kInfinity, -x);
      if (x > 0) return to_double(digamma_of_positive(x));
      // ψ(x) = ψ(1 − x) − π / tan(π x), and tan has period π.
      const double whole = rint(x);
      if (x == whole || is_infinite(x)) return kNan;
      return to_double(digamma_of_positive(1 - Wide(x)) - pi_over_tan_of_pi(Wide(x) - whole));
    }

    SHARED double polygamma(double n, double x) {
      if (n == 0) return digamma(x);
      if (!(n > 0) || n != floor(n) || is_nan(x)) return kNan;
      const bool is_odd = fmod(n, 2.0) == 1;
      if (x == 0) return is_odd ? kInfinity : copysign(kInfinity, -x);
      if (x == -kInfinity) return kNan;
      if (x < 0 && x == floor(x)) return is_odd ? kInfinity : kNan;
      const Wide sum = x > 0 ? hurwitz_zeta(n + 1, x) : zeta_below(n + 1, x);
      // In one exponential where n! may overflow a double.
      const Wide log_factorial = log_gamma_of_one_and(n);
      const Wide whole = n > 170 ? exp(log_factorial + log(sum)) : exp(log_factorial) * sum;
      return is_odd ? to_double(whole) : -to_double(whole);
    }

)
