// The regularised incomplete gamma functions and their derivatives with respect to the shape. For
// large shapes with x nearby: Temme's uniform asymptotic expansion; otherwise the power series, or
// the continued fraction for large x. The same code computes with numbers and with dual numbers.
// The names are those of shared_names.h.
SHARED_TEXT(

    // Power series Σ x^n / ((a + 1) … (a + n)): P is that times gamma_front.
    template <class T> SHARED T gamma_series(T a, Wide x) {
      T term = T(Wide(1));
      T sum = T(Wide(1));
      for (int n = 1; matters(term, sum); ++n) {
        term = term * (T(x) / (a + T(Wide(n))));
        sum = sum + term;
      }
      return sum;
    }

    // Continued fraction 1 / (x + 1 − a − 1 (1 − a) / (x + 3 − a − 2 (2 − a) / (x + 5 − a − …)))
    // for x > a, with Lentz's method: Q is that times a times gamma_front.
    template <class T>
    SHARED T gamma_fraction(T a, Wide x) {
      const T one = T(Wide(1));
      T upper = T(x + 1) - a;
      T lower = T(Wide(0));
      T result = one / upper;
      for (int n = 1;; ++n) {
        const Wide count = n;
        const T factor = (a - T(count)) * T(count);
        const T part = T(x + 2 * count + 1) - a;
        lower = one / (part + factor * lower);
        upper = part + factor / upper;
        const T step = upper * lower;
        result = result / step;
        if (is_one(step)) return result;
      }
    }

    // x^a e^−x / Γ(a + 1) is the exponential of this, divided by gamma_root.
    SHARED Wide gamma_log_front(Wide a, Wide x) {
      if (a < kStirling) return a * log(x) - x - log_gamma_of_one_and(a);
      const Wide u = (x - a) / a;
      const Wide rest = u < LITERAL(-0.5) ? log(x / a) - u : log1p_rest(u);
      return a * rest - stirling_rest(a);
    } SHARED Wide gamma_root(Wide a) {
      return a < kStirling ? Wide(1) : sqrt(2 * kPi * a);
    } SHARED Wide gamma_front(Wide a, Wide x) { return exp(gamma_log_front(a, x)) / gamma_root(a); }

    // ---- Temme's expansion: with η²/2 = x/a − 1 − log(x/a), Q is ½ erfc(η √(a/2)) + e^(−a η²/2) /
    // √(2 π a) Σ C_k(η) / a^k. C_0 = 1/μ − 1/η, C_k = C'_(k−1) / η + γ_k / μ, where μ = x/a − 1 and
    // γ_k cancels the pole; temme_coefficient has their power series.

    constexpr int kTemmeOrders = 9;
    constexpr int kTemmeTerms = 24;

    struct alignas(16) Temme {
      Wide root = 0;   // η √(a/2)
      Wide eta = 0;    // η
      Wide front = 0;  // e^(−a η²/2) / √(2 π a)
      Dual sum;        // Σ C_k / a^k, and its derivative by a for fixed x

      SHARED Temme(Wide a, Wide x) : sum(0) {
        const Wide u = (x - a) / a;
        const Wide half_square = -log1p_rest(u);
        eta = copysign(sqrt(2 * half_square), u);
        root = copysign(sqrt(a * half_square), u);
        front = exp(-a * half_square) / sqrt(2 * kPi * a);
        // η η' = −u / a, where −u / η is near −1 at 0.
        const Dual moving_eta(eta, eta == 0 ? -1 / a : -u / (a * eta));
        const Dual inverse(1 / a, -1 / (a * a));
        for (int k = kTemmeOrders; k-- > 0;) {
          Dual polynomial(0);
          for (int n = kTemmeTerms; n-- > 0;) {
            polynomial = polynomial * moving_eta + Dual(temme_coefficient(k, n));
          }
          sum = sum * inverse + polynomial;
        }
      }
    };

    SHARED_SMALL bool suits_temme(double a, double x) {
      return a > 64 && x > 0.6 * a && x < 1.6 * a;
    }

    // ---- P and Q.

    struct alignas(16) GammaShares { Wide below, above; };
    SHARED_SMALL GammaShares shares_from_below(Wide below) {
      return {below, 1 - below};
    } SHARED_SMALL GammaShares shares_from_above(Wide above) { return {1 - above, above}; }

    // For x < 1.5, where Q is small only if a is: Q = 1 − x^a / Γ(1 + a) − a x^a / Γ(1 + a) Σ
    // (−x)^n /
    // ((a + n) n!).
    SHARED GammaShares gamma_shares_near_zero(Wide a, Wide x) {
      const Wide below = gamma_front(a, x) * gamma_series(a, x);
      if (below < LITERAL(0.6)) return shares_from_below(below);
      const Wide power = a * log(x) - log_gamma_of_one_and(a);
      Wide sum = 0;
      Wide term = 1;
      for (int n = 1; abs(term) > LITERAL(1e-22); ++n) {
        term = term * (-x / Wide(n));
        sum = sum + term / (a + Wide(n));
      }
      return {below, -expm1(power) - exp(power) * a * sum};
    }

    SHARED GammaShares gamma_shares(double a, double x) {
      if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (is_infinite(a) && is_infinite(x))) {
        return {kNan, kNan};
      }
      if (a == 0 || is_infinite(x)) return {1, 0};
      if (x == 0 || is_infinite(a)) return {0, 1};
      const Wide wide = a;
      if (suits_temme(a, x)) {
        const Temme temme(a, x);
        const Wide rest = temme.front * temme.sum.value;
        if (temme.root < 0) return shares_from_below(erfc(-temme.root) / 2 - rest);
        return shares_from_above(erfc(temme.root) / 2 + rest);
      }
      if (x < 1.5) return gamma_shares_near_zero(wide, x);
      if (x <= a) return shares_from_below(gamma_front(wide, x) * gamma_series(wide, x));
      return shares_from_above(wide * gamma_front(wide, x) * gamma_fraction(wide, x));
    }

    // factor · x^(a−1) e^−x / Γ(a) for finite a, x > 0.
    SHARED Wide finite_gamma_density(double a, double x, Wide factor) {
      const Wide wide = x;
      const Wide log_front = gamma_log_front(a, wide);
      // Parts may be too small for a double.
      if (log_front < -600 || a < 1e-20) {
        return factor * a * exp(log_front - log(wide)) / gamma_root(a);
      }
      return factor * (a * (exp(log_front) / gamma_root(a)) / wide);
    }

    // −(∂P/∂a) / density for finite a, x > 0. The sums do not cancel: no term is much larger than
    // the result.
    SHARED Wide finite_gamma_quantile_da(double a, double x) {
      const Wide wide = x;
      const Wide shape = a;
      if (suits_temme(a, x)) {
        const Temme temme(a, x);
        const Wide log_ratio = log1p((wide - shape) / shape);
        const Wide slope = (temme.eta == 0 ? Wide(1) : log_ratio / temme.eta) +
                           (log_ratio - 1 / (2 * shape)) * temme.sum.value + temme.sum.slope;
        return slope * exp(stirling_rest(shape)) * wide / shape;
      }
      if (x < 1.5 || x <= a) {
        const Dual sum = gamma_series(Dual(shape, 1), wide);
        const Wide power = log(wide) - digamma_of_positive(shape + 1);
        return -(sum.value * power + sum.slope) * wide / shape;
      }
      const Dual part = gamma_fraction(Dual(shape, 1), wide);
      return (part.value * (log(wide) - digamma_of_positive(shape)) + part.slope) * wide;
    }

    SHARED double gamma_p(double a, double x) {
      return to_double(gamma_shares(a, x).below);
    } SHARED double gamma_q(double a, double x) { return to_double(gamma_shares(a, x).above); }

    SHARED double gamma_density(double a, double x) {
      if (!(a >= 0 && x >= 0) || (is_infinite(a) && is_infinite(x))) return kNan;
      if (x == 0) return a < 1 ? kInfinity : a == 1 ? 1 : 0;
      if (a == 0 || is_infinite(a) || is_infinite(x)) return 0;
      return to_double(finite_gamma_density(a, x, 1));
    }

    SHARED double gamma_quantile_da(double a, double x) {
      if (!(a > 0 && x >= 0) || is_infinite(a)) return kNan;
      if (x == 0 || is_infinite(x)) return x;
      return to_double(finite_gamma_quantile_da(a, x));
    }

    SHARED double gamma_p_da(double a, double x) {
      if (!(a > 0 && x >= 0) || is_infinite(a)) return kNan;
      if (x == 0 || is_infinite(x)) return 0;
      return to_double(finite_gamma_density(a, x, -finite_gamma_quantile_da(a, x)));
    }

)
