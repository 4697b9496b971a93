// The floating-point formats that C++ lacks: f16, bf16, f8e4m3 and f8e5m2. Conversions are exact or
// rounded once.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "plait/core/numbers/dtype.h"

namespace plait {

// The bits of a value in a format narrower than f64, rounded to nearest, ties to even. Overflow
// gives infinity, or NaN in a format without infinity. A NaN keeps its sign and the upper bits of
// its payload and becomes quiet, as in the conversions of processors.
constexpr uint32_t encode_float(double value, FloatFormat format) {
  constexpr uint64_t kInfinity = uint64_t{0x7ff} << 52;
  const auto word = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = word & ~(uint64_t{1} << 63);
  const int dropped = 52 - format.mantissa_bits;
  const uint32_t sign = static_cast<uint32_t>(word >> 63)
                        << (format.exponent_bits + format.mantissa_bits);
  // Infinity if the format has it; otherwise its only NaN.
  const uint32_t mantissa_mask = (uint32_t{1} << format.mantissa_bits) - 1;
  const uint32_t exponent_mask = ((uint32_t{1} << format.exponent_bits) - 1)
                                 << format.mantissa_bits;
  const uint32_t past_max = format.has_infinity ? exponent_mask : exponent_mask | mantissa_mask;

  if (magnitude > kInfinity) {
    const uint32_t quiet = uint32_t{1} << (format.mantissa_bits - 1);
    const auto payload = static_cast<uint32_t>(magnitude >> dropped) & mantissa_mask;
    return sign | past_max | quiet | payload;
  }
  if (magnitude == kInfinity) return sign | past_max;

  // In units of 2^-dropped steps of the result: the exponent above the mantissa for normal results,
  // so that a rounding carry increments the exponent; only the significand for subnormal results.
  const int exponent = static_cast<int>(magnitude >> 52) - 1023 + format.bias();
  const uint64_t mantissa = magnitude & ((uint64_t{1} << 52) - 1);
  uint64_t steps = (static_cast<uint64_t>(exponent) << 52) | mantissa;
  int shift = dropped;
  if (exponent < 1) {
    steps = (uint64_t{1} << 52) | mantissa;
    shift += 1 - exponent;
    if (shift > 53) return sign;  // less than half of the smallest number
  }
  const uint64_t half = uint64_t{1} << (shift - 1);
  const uint64_t rounded = (steps + half - 1 + ((steps >> shift) & 1)) >> shift;
  return sign | (rounded < past_max ? static_cast<uint32_t>(rounded) : past_max);
}

// The value of the bits; exact.
constexpr double decode_float(uint32_t bits, FloatFormat format) {
  const uint32_t mantissa_mask = (uint32_t{1} << format.mantissa_bits) - 1;
  const auto exponent_field = static_cast<int>((bits >> format.mantissa_bits) &
                                               ((uint32_t{1} << format.exponent_bits) - 1));
  const bool last_exponent = exponent_field == (1 << format.exponent_bits) - 1;
  const uint32_t field = bits & mantissa_mask;
  const uint64_t sign = static_cast<uint64_t>(bits >> (format.exponent_bits + format.mantissa_bits))
                        << 63;
  uint64_t mantissa = static_cast<uint64_t>(field) << (52 - format.mantissa_bits);
  int exponent = exponent_field - format.bias() + 1023;
  if (last_exponent && (format.has_infinity || field == mantissa_mask)) {
    exponent = 0x7ff;
  } else if (exponent_field == 0) {
    if (field == 0) return std::bit_cast<double>(sign);
    // A subnormal number is normal in f64: shift its highest set bit to the implicit position.
    const int shift = std::countl_zero(mantissa) - 11;
    mantissa = (mantissa << shift) & ((uint64_t{1} << 52) - 1);
    exponent = 1 - shift - format.bias() + 1023;
  }
  return std::bit_cast<double>(sign | (static_cast<uint64_t>(exponent) << 52) | mantissa);
}

// A number stored in the format of `dtype_value`; arithmetic is done in float or double.
template <DType dtype_value>
class PackedFloat {
 public:
  static constexpr DType kDType = dtype_value;
  static constexpr FloatFormat kFormat = info_of(dtype_value).format;
  using Bits = std::conditional_t<info_of(dtype_value).size == 1, uint8_t, uint16_t>;

  constexpr PackedFloat() = default;  // 0
  explicit constexpr PackedFloat(double value)
      : bits_(static_cast<Bits>(encode_float(value, kFormat))) {}
  static constexpr PackedFloat from_bits(Bits bits) {
    PackedFloat result;
    result.bits_ = bits;
    return result;
  }

  constexpr Bits bits() const { return bits_; }
  explicit constexpr operator double() const { return decode_float(bits_, kFormat); }
  explicit constexpr operator float() const { return static_cast<float>(double{*this}); }

  // Compared as numbers: 0 == -0, and NaN differs from everything.
  friend constexpr bool operator==(PackedFloat a, PackedFloat b) { return double{a} == double{b}; }
  friend constexpr auto operator<=>(PackedFloat a, PackedFloat b) {
    return double{a} <=> double{b};
  }

 private:
  Bits bits_ = 0;
};

using Float16 = PackedFloat<DType::f16>;
using BFloat16 = PackedFloat<DType::bf16>;
using Float8E4M3 = PackedFloat<DType::f8e4m3>;
using Float8E5M2 = PackedFloat<DType::f8e5m2>;

}  // namespace plait
