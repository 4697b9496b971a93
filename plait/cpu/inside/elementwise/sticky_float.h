// What f64 and integers are on the way to narrower floats than f32.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace plait {

// An f32 whose last bit also stands for all that follow: rounded once more to few bits it is what
// the number itself is rounded to.
inline float sticky_float(double number) {
  const auto rounded = static_cast<float>(number);
  const auto again = static_cast<double>(rounded);
  auto bits = std::bit_cast<uint32_t>(rounded);
  bits -= std::abs(again) > std::abs(number) ? 1 : 0;
  bits |= again != number ? 1 : 0;
  return std::bit_cast<float>(bits);
}

}  // namespace plait
