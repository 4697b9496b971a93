// Greatest common divisors and least common multiples, modulo 2^64 on overflow.
#pragma once

#include <concepts>
#include <cstdint>
#include <numeric>

namespace plait {

template <std::integral T>
constexpr uint64_t magnitude_of(T value) {
  const auto wide = static_cast<uint64_t>(value);
  return value < 0 ? 0 - wide : wide;
}

template <std::integral T>
constexpr T common_divisor(T a, T b) {
  return static_cast<T>(std::gcd(magnitude_of(a), magnitude_of(b)));
}

template <std::integral T>
constexpr T common_multiple(T a, T b) {
  if (a == 0 || b == 0) return 0;
  const uint64_t divisor = std::gcd(magnitude_of(a), magnitude_of(b));
  return static_cast<T>(magnitude_of(a) / divisor * magnitude_of(b));
}

}  // namespace plait
