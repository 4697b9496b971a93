// Gamma random numbers, with Marsaglia and Tsang's method ("A simple method for generating gamma
// variables", 2000): for d = a − 1/3 and a normal number n, d (1 + t)³ with t = n / (3 √d) nearly
// has the distribution; at most one in twenty is rejected. For a < 1, a sample for a + 1 is
// multiplied by u^(1/a) with u uniform in (0, 1). The names are those of random_units.inl.
SHARED_TEXT(

    // log of the ratio of the density to that of the proposals.
    SHARED double gamma_log_ratio(double square, double t, double d) {
      // For large d the exact formula would cancel; this is its series.
      if (d > 1e6) return -0.75 * d * t * t * t * t * (1 - t * (0.8 - t * 2 / 3));
      const double cube = (1 + t) * (1 + t) * (1 + t);
      return square / 2 + d * (1 - cube + 3 * log1p(t));
    }

    SHARED bool is_gamma_taken(double normal, double t, double d, double unit) {
      if (t <= -1) return false;
      const double square = normal * normal;
      if (unit < 1 - 0.0331 * square * square) return true;  // a cheap sufficient condition
      return log(unit) < gamma_log_ratio(square, t, d);
    }

    // The first accepted t. Each round has two blocks: one with normal numbers, and one with the
    // numbers that decide about them.
    SHARED double taken_gamma(Key key, u64 element, double d) {
      const double scale = 1 / (3 * sqrt(d));
      for (u64 round = 0;; ++round) {
        const Key own = attempt_key(key, round);
        const auto block = stream_block(own, 2 * element);
        const auto other = stream_block(own, 2 * element + 1);
        const NormalPair normals = normal_pair(first_word(block), second_word(block));
        const double first = scale * normals.first;
        if (is_gamma_taken(normals.first, first, d, unit_above_zero(first_word(other))))
          return first;
        const double second = scale * normals.second;
        if (is_gamma_taken(normals.second, second, d, unit_above_zero(second_word(other)))) {
          return second;
        }
      }
    }

    // The numbers of one key.
    struct alignas(16) GammaStream {
      Key key, power_key;

      // The second key is not used by any attempt.
      SHARED_SMALL explicit GammaStream(Key own) : key(own), power_key(folded_key(own, ~u64(0))) {}

      SHARED double draw(u64 element, double a, bool wants_log) const {
        if (!(a > 0)) {
          if (a != 0) return kNan;
          return wants_log ? -kInfinity : 0;
        }
        if (is_infinite(a)) return a;
        const bool is_small = a < 1;
        const double d = (is_small ? a + 1 : a) - 1. / 3;
        const double t = taken_gamma(key, element, d);
        const double log_power =
            is_small ? log(unit_above_zero(stream_word(power_key, element))) / a : 0;
        if (wants_log) return log(d) + 3 * log1p(t) + log_power;
        const double x = d * (1 + t) * (1 + t) * (1 + t);
        return is_small ? x * exp(log_power) : x;
      }
    };

)
