// Integer arithmetic with the rounding and overflow rules of sizes.
#pragma once

#include <cstdint>

namespace plait {

using WideInt = __int128;  // holds the product of any two sizes

// Rounds towards −∞; b is not 0.
template <class Int>
constexpr Int floor_quotient(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// count / size, rounded up.
constexpr int64_t quotient_up(int64_t count, int64_t size) { return (count + size - 1) / size; }

// Conversions modulo 2^64, where int64_t overflow would be undefined.
constexpr int64_t wrapped(uint64_t value) { return static_cast<int64_t>(value); }
constexpr uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

inline constexpr int64_t kLeastSize = -(int64_t{1} << 62);
inline constexpr int64_t kGreatestSize = (int64_t{1} << 62) - 1;
constexpr bool fits_a_size(WideInt number) {
  return kLeastSize <= number && number <= kGreatestSize;
}

}  // namespace plait
