// Branch-free conversions of f16 and bf16 to and from f32, for loops. Same results as
// PackedFloat's, except that every NaN becomes quiet and keeps as much of its payload as fits.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "plait/core/numbers/element.h"
#include "plait/cpu/inside/elementwise/sticky_float.h"

namespace plait {

inline float widened(BFloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits()) << 16);
}

inline float widened(Float16 value) {
  const uint32_t bits = value.bits();
  // Shifted by 13, the bits of f16 are an f32 that is 2^-112 times the value. The multiplication
  // rebiases the exponent, and normalises subnormal numbers.
  const float magnitude = std::bit_cast<float>((bits & 0x7fff) << 13) * 0x1p112f;
  const uint32_t special = (bits & 0x7c00) == 0x7c00 ? 0x7f800000 : 0;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | special | (bits & 0x8000) << 16);
}

inline BFloat16 narrowed_to_bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  const uint32_t quiet = bits >> 16 | 0x40;
  return BFloat16::from_bits(static_cast<uint16_t>(value == value ? rounded : quiet));
}

inline Float16 narrowed_to_f16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  // Rounds, then rebiases the exponent; numbers from 65520 on become infinity.
  const uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
  // Below 2^-14, adding 1/2 rounds to multiples of 2^-24.
  const uint32_t subnormal =
      std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000;
  uint32_t result = magnitude < 0x38800000 ? subnormal : normal;
  result = magnitude >= 0x477ff000 ? 0x7c00 : result;
  result = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : result;
  return Float16::from_bits(static_cast<uint16_t>(sign | result));
}

template <class T>
constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Converts T to the type that is computed with.
template <class State, class T>
State widened_to(T x) {
  if constexpr (kIsHalf<T>) {
    return static_cast<State>(widened(x));
  } else {
    return static_cast<State>(x);
  }
}
// Rounded once.
template <class T, class State>
T narrowed_to(State state) {
  if constexpr (kIsHalf<T> && std::is_same_v<State, double>) {
    return narrowed_to<T>(sticky_float(state));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return narrowed_to_bf16(state);
  } else if constexpr (std::is_same_v<T, Float16>) {
    return narrowed_to_f16(state);
  } else {
    return static_cast<T>(state);
  }
}

}  // namespace plait
