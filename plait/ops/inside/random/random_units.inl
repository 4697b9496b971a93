// Uniform and normal numbers from random bits, for the library and kernels of devices. The names
// are those of core/inside/mathematics/shared_names.h and random_names.h.
SHARED_TEXT(

    // Uniform in [0, 1), from as many bits as the result holds, at least 32 if a logarithm follows.
    SHARED_SMALL double whole_unit(u32 bits) {
      return bits * 0x1p-32;
    } SHARED_SMALL double whole_unit(u64 bits) { return double(bits >> 11) * 0x1p-53; }

    // Uniform in (0, 1): the midpoints of equal intervals.
    SHARED_SMALL double open_unit(u32 bits) {
      return (bits + 0.5) * 0x1p-32;
    } SHARED_SMALL double open_unit(u64 bits) { return (double(bits >> 12) + 0.5) * 0x1p-52; }

    // Uniform in (0, 1].
    SHARED_SMALL double unit_above_zero(u64 bits) { return double((bits >> 11) + 1) * 0x1p-53; }

    // The magnitude; the lowest bit is the sign, and is not used here.
    SHARED_SMALL double laplace_size(u32 bits) {
      return -log(((bits >> 1) + 0.5) * 0x1p-31);
    } SHARED_SMALL double laplace_size(u64 bits) { return -log(open_unit(bits)); }

    struct alignas(16) NormalPair { double first, second; };

    // Box-Muller: two normal numbers from two uniform ones, exact including the tails. It uses
    // functions that are accurate and vectorise well on every machine; the inverse distribution
    // function would need two polynomials, for the centre and for the tails. Multiples of a quarter
    // turn are removed from the angle first, exactly, so that results near 0 are accurate.
    template <class Bits> SHARED_SMALL NormalPair normal_pair(Bits a, Bits b) {
      const double radius = sqrt(-2 * log(open_unit(a)));
      const double turns = 4 * whole_unit(b);
      const double quarter = rint(turns);
      const double angle = (turns - quarter) * 0x1.921fb54442d18p0;
      const double c = cos(angle);
      const double s = sin(angle);
      const int number = int(quarter) & 3;
      const double x = number % 2 == 0 ? c : s;
      const double y = number % 2 == 0 ? s : c;
      return {radius * (number == 1 || number == 2 ? -x : x), radius * (number >= 2 ? -y : y)};
    }

    // ---- Attempts of rejection sampling: attempt 0 of an element uses its own bits of the key's
    // stream, attempt a those of the stream of folded_key(key, a).

    SHARED_SMALL Key attempt_key(Key key, u64 attempt) {
      return attempt == 0 ? key : folded_key(key, attempt);
    }

    // Two uniform numbers for one attempt of an element.
    struct alignas(16) TwoUnits {
      double first, second;

      SHARED_SMALL TwoUnits(Key key, u64 element, u64 attempt) {
        const auto block = stream_block(attempt_key(key, attempt), element);
        first = unit_above_zero(first_word(block));
        second = unit_above_zero(second_word(block));
      }
    };

)
