// A range of whole numbers, open where an end is unknown, and the arithmetic that bounds results.
#pragma once

#include <cstdint>
#include <optional>

namespace plait {

struct Interval {
  std::optional<int64_t> low, high;  // both included; none: no bound is known

  static Interval of(int64_t number) { return {number, number}; }
  bool contains(int64_t number) const {
    return (!low || *low <= number) && (!high || number <= *high);
  }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Each bounds the results over all members of the operands for which there is a result: a divisor
// of 0 has none. Ends that do not fit a size (±2^62) are given up.
Interval operator+(const Interval& a, const Interval& b);
Interval operator-(const Interval& a);
Interval operator*(const Interval& a, const Interval& b);
Interval floor_div(const Interval& a, const Interval& b);
Interval mod(const Interval& a, const Interval& b);
Interval max(const Interval& a, const Interval& b);
Interval min(const Interval& a, const Interval& b);

Interval intersect(const Interval& a, const Interval& b);
Interval hull(const Interval& a, const Interval& b);  // the smallest that contains both

}  // namespace plait
