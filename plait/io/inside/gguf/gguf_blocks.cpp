#include "plait/io/inside/gguf/gguf_blocks.h"

#include <array>
#include <bit>

#include "plait/core/numbers/float_formats.h"

namespace plait::gguf {
namespace {

constexpr int kHalfBlock = 16;  // a byte has an element of each half of 32
constexpr int kPlane = 32;      // elements that share a shift in blocks of 256
constexpr int kSuperBlock = 256;
constexpr int kGroup = 16;  // with one scale, in some blocks of 256

float half_at(const uint8_t* bytes) {
  return static_cast<float>(Float16::from_bits(static_cast<uint16_t>(bytes[0] | bytes[1] << 8)));
}

int low(uint8_t byte) { return byte & 15; }
int high(uint8_t byte) { return byte >> 4; }
int bit(const uint8_t* bytes, int place) { return bytes[place / 8] >> (place % 8) & 1; }

// Elements of a block of 256 that are in adjacent bytes, at the same place of each.
struct PackedBits {
  const uint8_t* bytes;
  int shift, mask;

  int operator[](int i) const { return bytes[i] >> shift & mask; }
};

// Elements from `first` to the end of its plane of 32. Four planes share 32 bytes.
PackedBits two_bits(const uint8_t* bytes, int first) {
  return {bytes + first / 128 * kPlane + first % kPlane, 2 * (first % 128 / kPlane), 3};
}

// The same for two planes in 32 bytes, and for two of 64 elements in 64 bytes.
PackedBits four_bits(const uint8_t* bytes, int first, int plane = kPlane) {
  return {bytes + first / (2 * plane) * plane + first % plane, first / plane % 2 * 4, 15};
}

// Computes all integers of a group first: bytes may alias elements, and the loops would not
// vectorise.
template <class Integer>
void scale_group(float scale, Integer integer, float* elements) {
  std::array<int, kGroup> integers;
  for (int i = 0; i < kGroup; ++i) integers[static_cast<size_t>(i)] = integer(i);
  for (const int each : integers) *elements++ = scale * static_cast<float>(each);
}

// The scale and the minimum of a group of 32, which are 6 bits each (Q4_K, Q5_K).
struct GroupScale {
  int scale, minimum;
};
GroupScale group_scale(const uint8_t* packed, int group) {
  if (group < 4) return {packed[group] & 63, packed[group + 4] & 63};
  const uint8_t both = packed[group + 4];
  return {low(both) | (packed[group - 4] >> 2 & 48), high(both) | (packed[group] >> 2 & 48)};
}

// The scale of a group of 16, which is 6 bits (Q3_K).
int signed_scale(const uint8_t* packed, int group) {
  const int lower = group < 8 ? low(packed[group]) : high(packed[group - 8]);
  const int upper = packed[8 + group % 4] >> (2 * (group / 4)) & 3;
  return (lower | upper << 4) - 32;
}

// 2^(exponent - 128), which is half of what the exponent says: the table has doubled numbers.
float halved_power(uint8_t exponent) {
  if (exponent < 2) return std::bit_cast<float>(uint32_t{0x00200000} << exponent);
  return std::bit_cast<float>(static_cast<uint32_t>(exponent - 1) << 23);
}

constexpr std::array<int8_t, 16> kNonlinear = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
constexpr std::array<int8_t, 16> kFourBitFloats = {0, 1,  2,  3,  4,  6,  8,  12,
                                                   0, -1, -2, -3, -4, -6, -8, -12};

void look_up(const std::array<int8_t, 16>& table, float scale, const uint8_t* places,
             float* elements) {
  for (int i = 0; i < kHalfBlock; ++i) {
    elements[i] = scale * static_cast<float>(table[static_cast<size_t>(low(places[i]))]);
    elements[i + kHalfBlock] =
        scale * static_cast<float>(table[static_cast<size_t>(high(places[i]))]);
  }
}

}  // namespace

// ---- Blocks of 32.

void dequantize_q4_0(const uint8_t* block, float* elements) {
  const float scale = half_at(block);
  const uint8_t* packed = block + 2;
  for (int i = 0; i < kHalfBlock; ++i) {
    elements[i] = scale * static_cast<float>(low(packed[i]) - 8);
    elements[i + kHalfBlock] = scale * static_cast<float>(high(packed[i]) - 8);
  }
}

void dequantize_q4_1(const uint8_t* block, float* elements) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  const uint8_t* packed = block + 4;
  for (int i = 0; i < kHalfBlock; ++i) {
    elements[i] = scale * static_cast<float>(low(packed[i])) + minimum;
    elements[i + kHalfBlock] = scale * static_cast<float>(high(packed[i])) + minimum;
  }
}

void dequantize_q5_0(const uint8_t* block, float* elements) {
  const float scale = half_at(block);
  const uint8_t *upper = block + 2, *packed = block + 6;
  for (int i = 0; i < kHalfBlock; ++i) {
    const int first = low(packed[i]) | bit(upper, i) << 4;
    const int second = high(packed[i]) | bit(upper, i + kHalfBlock) << 4;
    elements[i] = scale * static_cast<float>(first - 16);
    elements[i + kHalfBlock] = scale * static_cast<float>(second - 16);
  }
}

void dequantize_q5_1(const uint8_t* block, float* elements) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  const uint8_t *upper = block + 4, *packed = block + 8;
  for (int i = 0; i < kHalfBlock; ++i) {
    const int first = low(packed[i]) | bit(upper, i) << 4;
    const int second = high(packed[i]) | bit(upper, i + kHalfBlock) << 4;
    elements[i] = scale * static_cast<float>(first) + minimum;
    elements[i + kHalfBlock] = scale * static_cast<float>(second) + minimum;
  }
}

void dequantize_q8_0(const uint8_t* block, float* elements) {
  const float scale = half_at(block);
  for (int i = 0; i < 2 * kHalfBlock; ++i) {
    elements[i] = static_cast<float>(static_cast<int8_t>(block[2 + i])) * scale;
  }
}

// ---- Blocks of 256.

void dequantize_q2_k(const uint8_t* block, float* elements) {
  const uint8_t *scales = block, *packed = block + 16;
  const float scale = half_at(block + 80), minimum = half_at(block + 82);
  for (int first = 0; first < kSuperBlock; first += kGroup) {
    const float own_scale = scale * static_cast<float>(low(*scales));
    const float own_minimum = minimum * static_cast<float>(high(*scales++));
    const PackedBits bits = two_bits(packed, first);
    for (int i = 0; i < kGroup; ++i) {
      elements[first + i] = own_scale * static_cast<float>(bits[i]) - own_minimum;
    }
  }
}

void dequantize_q3_k(const uint8_t* block, float* elements) {
  const uint8_t *packed = block + 32, *scales = block + 96;
  const float scale = half_at(block + 108);
  for (int first = 0; first < kSuperBlock; first += kGroup) {
    const float own_scale = scale * static_cast<float>(signed_scale(scales, first / kGroup));
    const PackedBits bits = two_bits(packed, first);
    // 4 is subtracted where this bit is not set.
    const PackedBits upper = {block + first % kPlane, first / kPlane, 1};
    scale_group(own_scale, [&](int i) { return bits[i] + 4 * upper[i] - 4; }, elements + first);
  }
}

void dequantize_q4_k(const uint8_t* block, float* elements) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  const uint8_t *scales = block + 4, *packed = block + 16;
  for (int first = 0; first < kSuperBlock; first += kPlane) {
    const GroupScale own = group_scale(scales, first / kPlane);
    const float own_scale = scale * static_cast<float>(own.scale);
    const float own_minimum = minimum * static_cast<float>(own.minimum);
    const PackedBits bits = four_bits(packed, first);
    for (int i = 0; i < kPlane; ++i) {
      elements[first + i] = own_scale * static_cast<float>(bits[i]) - own_minimum;
    }
  }
}

void dequantize_q5_k(const uint8_t* block, float* elements) {
  const float scale = half_at(block), minimum = half_at(block + 2);
  const uint8_t *scales = block + 4, *packed = block + 48;
  for (int first = 0; first < kSuperBlock; first += kPlane) {
    const GroupScale own = group_scale(scales, first / kPlane);
    const float own_scale = scale * static_cast<float>(own.scale);
    const float own_minimum = minimum * static_cast<float>(own.minimum);
    const PackedBits bits = four_bits(packed, first), fifth = {block + 16, first / kPlane, 1};
    for (int i = 0; i < kPlane; ++i) {
      elements[first + i] = own_scale * static_cast<float>(bits[i] + 16 * fifth[i]) - own_minimum;
    }
  }
}

void dequantize_q6_k(const uint8_t* block, float* elements) {
  const uint8_t *packed = block, *scales = block + 192;
  const float scale = half_at(block + 208);
  for (int first = 0; first < kSuperBlock; first += kGroup) {
    const float own_scale = scale * static_cast<float>(static_cast<int8_t>(*scales++));
    const PackedBits bits = four_bits(packed, first, 2 * kPlane),
                     upper = two_bits(block + 128, first);
    scale_group(own_scale, [&](int i) { return bits[i] + 16 * upper[i] - 32; }, elements + first);
  }
}

// ---- Tables.

void dequantize_iq4_nl(const uint8_t* block, float* elements) {
  look_up(kNonlinear, half_at(block), block + 2, elements);
}

void dequantize_iq4_xs(const uint8_t* block, float* elements) {
  const float scale = half_at(block);
  const int upper = block[2] | block[3] << 8;
  const uint8_t *lower = block + 4, *packed = block + 8;
  for (int group = 0; group < kSuperBlock / kPlane; ++group) {
    const int four = group % 2 == 0 ? low(lower[group / 2]) : high(lower[group / 2]);
    const int own = (four | (upper >> (2 * group) & 3) << 4) - 32;
    look_up(kNonlinear, scale * static_cast<float>(own), packed + group * kHalfBlock,
            elements + group * kPlane);
  }
}

void dequantize_mxfp4(const uint8_t* block, float* elements) {
  look_up(kFourBitFloats, halved_power(block[0]), block + 1, elements);
}

// ---- Three values.

// A byte is a fraction of 256 whose digits to the base 3 are elements: multiplied by a power of 3,
// modulo 256, it begins with one of them.
void dequantize_tq1_0(const uint8_t* block, float* elements) {
  struct Part {
    int begin, bytes, digits;
  };
  constexpr std::array<Part, 3> kParts = {{{0, 32, 5}, {32, 16, 5}, {48, 4, 4}}};
  const float scale = half_at(block + 52);
  for (const Part& part : kParts) {
    uint8_t power = 1;
    for (int digit = 0; digit < part.digits; ++digit, power = static_cast<uint8_t>(3 * power)) {
      for (int i = 0; i < part.bytes; ++i) {
        const auto fraction = static_cast<uint8_t>(block[part.begin + i] * power);
        *elements++ = scale * static_cast<float>((fraction * 3 >> 8) - 1);
      }
    }
  }
}

void dequantize_tq2_0(const uint8_t* block, float* elements) {
  const float scale = half_at(block + 64);
  for (int first = 0; first < kSuperBlock; first += kPlane) {
    const PackedBits bits = two_bits(block, first);
    for (int i = 0; i < kPlane; ++i) {
      elements[first + i] = scale * static_cast<float>(bits[i] - 1);
    }
  }
}

}  // namespace plait::gguf
