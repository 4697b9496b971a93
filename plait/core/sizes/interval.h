// Interval arithmetic on integers; an end may be unknown.
#pragma once

#include <cstdint>
#include <optional>

namespace plait {

struct Interval {
  std::optional<int64_t> low, high;  // inclusive; empty: no known bound

  static Interval of(int64_t number) { return {number, number}; }
  bool contains(int64_t number) const {
    return (!low || *low <= number) && (!high || number <= *high);
  }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Each bounds the results over all members of the operands that have a result: a divisor of 0 has
// none. Ends beyond the range of sizes (±2^62) become unknown.
Interval operator+(const Interval& a, const Interval& b);
Interval operator-(const Interval& a);
Interval operator*(const Interval& a, const Interval& b);
Interval floor_div(const Interval& a, const Interval& b);
Interval mod(const Interval& a, const Interval& b);
Interval max(const Interval& a, const Interval& b);
Interval min(const Interval& a, const Interval& b);

Interval intersect(const Interval& a, const Interval& b);
Interval hull(const Interval& a, const Interval& b);  // the smallest interval that contains both

}  // namespace plait
