// Probabilities of counts, after Loader ("Fast and accurate computation of binomial probabilities",
// 2000), which avoids differences of large numbers. The names are those of shared_names.h.
SHARED_TEXT(

    constexpr int kFewForStirling = 16;

    // log n! − log(√(2πn) (n / e)^n) for whole n > 0.
    SHARED double stirling_remainder(double n) {
      if (n < kFewForStirling) return stirling_of_few(int(n));
      const double square = 1 / (n * n);
      return (1. / 12 - square * (1. / 360 - square * (1. / 1260 - square / 1680))) / n;
    }

    // k log(k / m) + m − k.
    SHARED double deviance(double k, double m) {
      if (!(abs(k - m) < 0.1 * (k + m))) return k * log(k / m) + m - k;
      const double v = (k - m) / (k + m);
      double sum = (k - m) * v;
      double term = 2 * k * v;
      for (double n = 3; n < 100; n += 2) {
        term *= v * v;
        const double next = sum + term / n;
        if (next == sum) break;
        sum = next;
      }
      return sum;
    }

    constexpr double kTwoPi = 6.283185307179586;

    SHARED double log_poisson(double k, double rate) {
      if (k == 0) return -rate;
      return -deviance(k, rate) - stirling_remainder(k) - log(kTwoPi * k) / 2;
    }

    SHARED double log_binomial(double k, double n, double p, double failure) {
      if (k == 0) return n * log1p(-p);
      if (k == n) return n * log(p);
      const double rest = n - k;
      return stirling_remainder(n) - stirling_remainder(k) - stirling_remainder(rest) -
             deviance(k, n * p) - deviance(rest, n * failure) - log(kTwoPi * k * (rest / n)) / 2;
    }

)
