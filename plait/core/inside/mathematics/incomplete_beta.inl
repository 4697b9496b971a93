// The regularised incomplete beta function and its derivatives. The names are those of
// shared_names.h.
SHARED_TEXT(

    // log(1 + u) − u, where 1 + u is also given as `ratio`.
    SHARED Wide log_ratio_rest(Wide u, Wide ratio) {
      return u < LITERAL(-0.5) ? log(ratio) - u : log1p_rest(u);
    }

    // The shapes, x and 1 − x.
    struct alignas(16) Beta {
      Wide a, b, x, y;

      SHARED_SMALL bool are_large() const { return a >= kStirling && b >= kStirling; }
      // The distance of x from a / (a + b), where x^a y^b is greatest, times a + b.
      SHARED_SMALL Wide excess() const { return x * b - y * a; }
      // The logarithm of x^a y^b divided by its maximum.
      SHARED Wide log_power() const {
        return a * log_ratio_rest(excess() / a, x * (a + b) / a) +
               b * log_ratio_rest(-excess() / b, y * (a + b) / b);
      }
      // √(a b / (2 π (a + b))).
      SHARED Wide root() const { return sqrt(a / (a + b) * b / (2 * kPi)); }
      SHARED Wide log_x() const { return x > LITERAL(0.5) ? log1p(-y) : log(x); }
      SHARED Wide log_y() const { return y > LITERAL(0.5) ? log1p(-x) : log(y); }
      // x^a y^b / B(a, b) / divisor, also where both are too small for a double.
      SHARED Wide front_over(Wide divisor) const {
        const Wide factor = are_large() ? root() : Wide(1);
        const Wide power =
            are_large() ? log_power() + stirling_rest(a + b) - stirling_rest(a) - stirling_rest(b)
                        : a * log_x() + b * log_y() - log_beta_of_positive(a, b);
        if (power < -600) return exp(power + log(factor) - log(divisor));
        return exp(power) * factor / divisor;
      }
    };

    // For large shapes: ½ erfc(−s), where −s² is log_power(), plus e^(−s²) times a correction that
    // makes the derivative exact up to a relative error of order 1 / (a + b).
    SHARED Wide beta_share_of_large(const Beta& beta) {
      const Wide excess = beta.excess();
      const Wide log_power = beta.log_power();
      const Wide s = copysign(sqrt(-log_power), excess);
      const Wide root_pi = 1 / kInverseRootPi;
      const Wide a = beta.a;
      const Wide b = beta.b;
      const Wide rest = abs(s) < LITERAL(1e-6)
                            ? (b - a) / (a + b) / (beta.root() * root_pi * root_pi * 6)
                            : 1 / (2 * root_pi * s) - beta.root() / excess;
      return erfc(-s) / 2 + exp(log_power) * rest;
    }

    // Continued fraction 1 / (1 + d_1 / (1 + d_2 / (1 + …))) for x below (a + 1) / (a + b + 2),
    // with Lentz's method: I_x(a, b) is that times front / a.
    template <class T>
    SHARED T beta_fraction(T a, T b, Wide x) {
      const T one = T(Wide(1));
      T upper = one;
      T lower = T(Wide(0));
      T result = one;
      for (int m = 0;; ++m) {
        const T k = T(Wide(m));
        const T next = k + one;
        const T both = a + k + k;
        const T terms[2] = {T(-x) * (a + k) / both * ((a + b + k) / (both + one)),
                            T(x) * next / (both + one) * ((b - next) / (both + T(Wide(2))))};
        T step = one;
        for (const T& d : terms) {
          lower = one / (one + d * lower);
          upper = one + d / upper;
          step = step * upper * lower;
        }
        result = result / step;
        if (is_one(step)) return result;
      }
    }

    // Where the continued fraction takes tens of thousands of steps.
    constexpr double kHugeShape = 1e9;
    SHARED_SMALL bool are_huge(double a, double b) { return a > kHugeShape && b > kHugeShape; }

    SHARED_SMALL bool is_low(const Beta& beta) {
      return beta.x < (beta.a + 1) / (beta.a + beta.b + 2);
    }

    // ∂I/∂a. The sums do not cancel: no term is much larger than the result.
    SHARED Wide beta_share_by_first(const Beta& beta) {
      const Wide a = beta.a;
      const Wide b = beta.b;
      const Wide power = beta.log_x() - digamma_of_positive(a) + digamma_of_positive(a + b);
      if (is_low(beta)) {
        const Dual part = beta_fraction(Dual(a, 1), Dual(b), beta.x);
        return beta.front_over(a) * (part.value * (power - 1 / a) + part.slope);
      }
      const Dual part = beta_fraction(Dual(b), Dual(a, 1), beta.y);
      return -beta.front_over(b) * (part.value * power + part.slope);
    }

    // For large shapes: moves the quantile as if x were normally distributed.
    SHARED Wide beta_share_by_first_of_large(const Beta& beta) {
      const Wide a = beta.a;
      const Wide sum = beta.a + beta.b;
      const Wide from_mean = beta.excess() / sum;
      const Wide move = beta.b / sum / sum + from_mean * (1 / a - 3 / sum) / 2;
      return -beta.front_over(beta.x * beta.y) * move;
    }

    SHARED double beta_share_by_first(double a, double b, const Beta& beta) {
      const bool is_none =
          !(a > 0 && b > 0 && beta.x >= 0 && beta.x <= 1) || is_infinite(a) || is_infinite(b);
      if (is_none) return kNan;
      if (beta.x == 0 || beta.y == 0) return 0;
      return to_double(are_huge(a, b) ? beta_share_by_first_of_large(beta)
                                      : beta_share_by_first(beta));
    }

    SHARED double betainc_value(double a, double b, double x) {
      const bool is_none = !(a >= 0 && b >= 0 && x >= 0 && x <= 1) || (a == 0 && b == 0) ||
                           (is_infinite(a) && is_infinite(b));
      if (is_none) return kNan;
      if (x == 0 || x == 1) return x;
      if (a == 0 || is_infinite(b)) return 1;
      if (b == 0 || is_infinite(a)) return 0;
      const Beta beta = {a, b, x, 1 - Wide(x)};
      if (are_huge(a, b)) return to_double(beta_share_of_large(beta));
      if (is_low(beta)) {
        return to_double(beta.front_over(beta.a) * beta_fraction(beta.a, beta.b, beta.x));
      }
      return to_double(1 - beta.front_over(beta.b) * beta_fraction(beta.b, beta.a, beta.y));
    }

    SHARED double betainc_da(double a, double b, double x) {
      return beta_share_by_first(a, b, {a, b, x, 1 - Wide(x)});
    } SHARED double betainc_db(double a, double b, double x) {
      return -beta_share_by_first(b, a, {b, a, 1 - Wide(x), x});
    }

    SHARED double beta_density(double a, double b, double x) {
      const bool is_none =
          !(a > 0 && b > 0 && x >= 0 && x <= 1) || is_infinite(a) || is_infinite(b);
      if (is_none) return kNan;
      if (x == 0) return a < 1 ? kInfinity : a == 1 ? b : 0;
      if (x == 1) return b < 1 ? kInfinity : b == 1 ? a : 0;
      const Beta beta = {a, b, x, 1 - Wide(x)};
      return to_double(beta.front_over(beta.x * beta.y));
    }

)
