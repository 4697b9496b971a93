// Numbers of the types of matrices, in memory and as double.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/cuda_emulator/libraries/matmul.h"

namespace emulator {
namespace {

// A small floating-point type. Those of 8 bits saturate, and e4m3 has no infinities.
struct Format {
  int exponent_bits, mantissa_bits;
  double most;
  bool has_infinity, saturates;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  unsigned infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
};

constexpr Format kHalf = {5, 10, 65504, true, false};
constexpr Format kBfloat16 = {8, 7, 3.3895313892515355e38, true, false};
constexpr Format kE4M3 = {4, 3, 448, false, true};
constexpr Format kE5M2 = {5, 2, 57344, true, true};

double decoded(unsigned bits, const Format& format) {
  const unsigned sign_bit = 1u << (format.exponent_bits + format.mantissa_bits),
                 magnitude = bits & (sign_bit - 1);
  const double sign = bits & sign_bit ? -1 : 1;
  if (format.has_infinity && magnitude >= format.infinity())
    return magnitude > format.infinity() ? NAN : sign * INFINITY;
  if (!format.has_infinity && magnitude == sign_bit - 1) return NAN;
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const int fraction = static_cast<int>(magnitude & ((1u << format.mantissa_bits) - 1));
  const int whole = exponent ? fraction + (1 << format.mantissa_bits) : fraction;
  return sign * std::ldexp(whole, (exponent ? exponent : 1) - format.bias() - format.mantissa_bits);
}

// Rounds to nearest, ties to even.
unsigned encoded(double value, const Format& format) {
  const unsigned sign_bit = 1u << (format.exponent_bits + format.mantissa_bits),
                 sign = std::signbit(value) ? sign_bit : 0;
  if (std::isnan(value)) return sign_bit - 1;
  const double magnitude = std::fabs(value);
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent - 1, 1 - format.bias());
  double steps = std::isinf(magnitude)
                     ? INFINITY
                     : std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  if (std::ldexp(steps, exponent - format.mantissa_bits) > format.most) {
    return sign | (format.saturates ? encoded(format.most, format) : format.infinity());
  }
  const double implicit = std::ldexp(1, format.mantissa_bits);
  if (steps < implicit) return sign | static_cast<unsigned>(steps);
  if (steps == 2 * implicit) {
    steps = implicit;
    ++exponent;
  }
  return sign | static_cast<unsigned>(exponent + format.bias()) << format.mantissa_bits |
         static_cast<unsigned>(steps - implicit);
}

template <class T>
T loaded(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void store(char* bytes, T value) {
  std::memcpy(bytes, &value, sizeof value);
}

const Format& format_of(uint32_t type) {
  return type == CUDA_R_16F       ? kHalf
         : type == CUDA_R_16BF    ? kBfloat16
         : type == CUDA_R_8F_E4M3 ? kE4M3
                                  : kE5M2;
}

}  // namespace

size_t bytes_of_type(uint32_t type) {
  switch (static_cast<int>(type)) {
    case CUDA_C_64F: return 16;
    case CUDA_C_32F:
    case CUDA_R_64F: return 8;
    case CUDA_R_32F: return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2: return 1;
    default: return 0;
  }
}

double loaded_number(const char* bytes, uint32_t type) {
  if (type == CUDA_R_64F) return loaded<double>(bytes);
  if (type == CUDA_R_32F) return loaded<float>(bytes);
  const unsigned bits = bytes_of_type(type) == 2 ? loaded<uint16_t>(bytes) : loaded<uint8_t>(bytes);
  return decoded(bits, format_of(type));
}

void store_number(char* bytes, uint32_t type, double value) {
  if (type == CUDA_R_64F) return store(bytes, value);
  if (type == CUDA_R_32F) return store(bytes, static_cast<float>(value));
  const unsigned bits = encoded(value, format_of(type));
  if (bytes_of_type(type) == 2) return store(bytes, static_cast<uint16_t>(bits));
  store(bytes, static_cast<uint8_t>(bits));
}

float rounded_to_tf32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if ((bits & 0x7f800000u) == 0x7f800000u) return value;
  bits = (bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu;
  std::memcpy(&value, &bits, 4);
  return value;
}

}  // namespace emulator
