// Intermediate f32 for conversions of f64 and integers to narrower floats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace plait {

// Rounds to an f32 with a sticky last bit (round to odd), so that rounding again to a narrower
// format gives the same as rounding the original number once.
inline float sticky_float(double number) {
  const auto rounded = static_cast<float>(number);
  const auto again = static_cast<double>(rounded);
  auto bits = std::bit_cast<uint32_t>(rounded);
  bits -= std::abs(again) > std::abs(number) ? 1 : 0;
  bits |= again != number ? 1 : 0;
  return std::bit_cast<float>(bits);
}

}  // namespace plait
