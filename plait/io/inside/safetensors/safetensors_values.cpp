#include "plait/io/inside/safetensors/safetensors_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "plait/core/error.h"
#include "plait/io/inside/element_bytes.h"

namespace plait {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
using Values = std::array<float, 256>;  // by byte

// Powers of two, without a sign: the scales of blocks.
Values values_of_e8m0() {
  Values values;
  for (int byte = 0; byte < 255; ++byte) {
    values[static_cast<size_t>(byte)] = std::ldexp(1.0F, byte - 127);
  }
  values[255] = kNaN;
  return values;
}

// Sign, exponent, mantissa; no infinities, and the byte of -0 is the only NaN. The bias is one more
// than that of IEEE's formats.
Values values_of_fnuz(int mantissa_bits) {
  const int bias = 1 << (6 - mantissa_bits), ones = 1 << mantissa_bits;
  Values values;
  for (int byte = 0; byte < 256; ++byte) {
    const int exponent = (byte & 127) >> mantissa_bits, mantissa = byte & (ones - 1);
    const int significand = exponent == 0 ? mantissa : mantissa + ones;
    const float size =
        std::ldexp(static_cast<float>(significand), std::max(exponent, 1) - bias - mantissa_bits);
    values[static_cast<size_t>(byte)] = byte < 128 ? size : -size;
  }
  values[128] = kNaN;
  return values;
}

Values values_of(std::string_view dtype) {
  if (dtype == "F8_E8M0") return values_of_e8m0();
  if (dtype == "F8_E4M3FNUZ") return values_of_fnuz(3);
  if (dtype == "F8_E5M2FNUZ") return values_of_fnuz(2);
  throw TypeError("it is {}, of which only the bytes are read", dtype)
      .hint("bytes(name) has its bytes as u8");
}

}  // namespace

Array stored_bytes(Sizes sizes, uint64_t bits_of_element, std::span<const std::byte> bytes,
                   std::shared_ptr<const void> owner) {
  if (sizes.empty()) sizes.push_back(1);
  int64_t bits = 0;
  const bool overflows = __builtin_mul_overflow(sizes.back(), bits_of_element, &bits);
  if (overflows || bits % 8 != 0) {  // rows of packed elements may end within a byte
    sizes = {static_cast<int64_t>(bytes.size())};
  } else {
    sizes[sizes.size() - 1] = bits / 8;
  }
  return array_of_bytes(DType::u8, std::move(sizes), bytes, std::move(owner));
}

Array stored_values(std::string_view dtype, Sizes sizes, std::span<const std::byte> bytes) {
  const Values values = values_of(dtype);
  Array result = Array::empty(DType::f32, std::move(sizes));
  std::ranges::transform(bytes, result.writable_elements<float>().begin(),
                         [&](std::byte byte) { return values[std::to_integer<size_t>(byte)]; });
  return result;
}

}  // namespace plait
