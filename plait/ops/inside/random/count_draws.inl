// Poisson, binomial and multinomial numbers. Small means use inversion by sequential search; large
// ones use transformed rejection (Hörmann, "The transformed rejection method for generating Poisson
// random variables", 1993, and "The generation of binomial random variates", 1993). The names are
// those of random_units.inl.
SHARED_TEXT(

    constexpr double kFew = 10;  // expected value below which inversion is used
    constexpr double kMostOfFew =
        200;  // practically never exceeded for an expected value of `kFew`

    SHARED_SMALL i64 as_count(double number) {
      return number < 9223372036854775808. ? i64(number) : i64(9223372036854775807);
    }

    // A hat function for both distributions, centred at the expected value, with a width
    // proportional to the deviation.
    struct alignas(16) Hat {
      double a, b, middle, certain;

      // The proposal for u uniform in (-1/2, 1/2), at a distance of `space` from the nearer end.
      SHARED_SMALL double at(double u, double space) const {
        return floor((2 * a / space + b) * u + middle);
      }
      SHARED_SMALL double slope(double space) const { return a / (space * space) + b; }

      // log_probability(k) and log(scale) may lack the same constant; −∞ for impossible values.
      template <class LogProbability>
      SHARED_SMALL double draw(Key key, u64 element, double scale,
                               const LogProbability& log_probability) const {
        for (u64 attempt = 0;; ++attempt) {
          const TwoUnits units(key, element, attempt);
          const double u = units.first - 0.5;
          const double space = 0.5 - abs(u);
          const double v = units.second;
          if (space == 0) continue;
          const double k = at(u, space);
          if (space >= 0.07 && v <= certain) return k;
          if (k < 0) continue;
          if (log(v * scale / slope(space)) <= log_probability(k)) return k;
        }
      }
    };

    // ---- Each distribution is made of valid parameters.

    SHARED_SMALL bool is_rate(double rate) { return rate >= 0 && !is_infinite(rate); }

    struct alignas(16) Poisson {
      double rate;
      double none = 0;
      double scale = 0;
      Hat hat = {};

      SHARED explicit Poisson(double given) : rate(given) {
        if (rate < kFew) {
          none = exp(-rate);
          return;
        }
        const double b = 0.931 + 2.53 * sqrt(rate);
        hat = {-0.059 + 0.02483 * b, b, rate + 0.43, 0.9277 - 3.6224 / (b - 2)};
        scale = 1.1239 + 1.1328 / (b - 3.4);
      }

      SHARED i64 draw(Key key, u64 element) const {
        if (rate >= kFew) {
          const double mean = rate;
          return as_count(
              hat.draw(key, element, scale, [mean](double k) { return log_poisson(k, mean); }));
        }
        double left = TwoUnits(key, element, 0).first;
        double probability = none;
        double k = 0;
        while (left > probability && k < kMostOfFew) {
          left -= probability;
          k += 1;
          probability *= rate / k;
        }
        return i64(k);
      }
    };

    struct BinomialLogProbability {
      double n, p, failure, most;

      SHARED_SMALL double operator()(double k) const {
        if (k > n) return -kInfinity;
        return log_binomial(k, n, p, failure) - most;
      }
    };

    SHARED_SMALL bool is_probability(double p) { return p >= 0 && p <= 1; }

    struct alignas(16) Binomial {
      i64 count;
      bool is_mirrored;
      double n, p, failure;
      double none = 0;
      double most = 0;
      double scale = 0;
      Hat hat = {};

      SHARED Binomial(i64 trials, double probability)
          : count(trials),
            is_mirrored(probability > 0.5),
            n(double(trials)),
            p(is_mirrored ? 1 - probability : probability),
            failure(is_mirrored ? probability : 1 - probability) {
        if (n * p < kFew) {
          none = exp(n * log1p(-p));
          return;
        }
        const double deviation = sqrt(n * p * failure);
        const double b = 1.15 + 2.53 * deviation;
        hat = {-0.0873 + 0.0248 * b + 0.01 * p, b, n * p + 0.5, 0.92 - 4.2 / b};
        most = log_binomial(floor((n + 1) * p), n, p, failure);
        scale = (2.83 + 5.1 / b) * deviation;
      }

      SHARED i64 draw(Key key, u64 element) const {
        const i64 drawn = n * p < kFew
                              ? few(TwoUnits(key, element, 0).first)
                              : as_count(hat.draw(key, element, scale,
                                                  BinomialLogProbability{n, p, failure, most}));
        const i64 taken = drawn < count ? drawn : count;
        return is_mirrored ? count - taken : taken;
      }

      SHARED i64 few(double left) const {
        double probability = none;
        double k = 0;
        const double end = n < kMostOfFew ? n : kMostOfFew;
        for (; left > probability && k < end; k += 1) {
          left -= probability;
          probability *= (n - k) / (k + 1) * (p / failure);
        }
        return i64(k);
      }
    };

    // Draws the categories one after another: each is binomial, given the trials that remain.
    // `rest` has the sums of the weights from each category on, and `first` is the first one's
    // element.
    SHARED void draw_categories(Key key, u64 first, i64 left, i64 categories, const double* weights,
                                const double* rest, i64* out) {
      for (i64 i = 0; i < categories; ++i) {
        const double share = weights[i] / rest[i];
        const double p = rest[i] == 0 ? 0 : share < 1 ? share : 1;
        out[i] = Binomial(left, p).draw(key, first + u64(i));
        left -= out[i];
      }
    }

)
