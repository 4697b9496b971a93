// Conversion of random bits to numbers of a distribution, one by one.
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>

#include "plait/core/numbers/element.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait {
namespace {

constexpr double kPi = std::numbers::pi;

// Uniform in [0, 1), from as many bits as the result holds, at least 32 if a logarithm follows.
double whole_unit(uint32_t bits) { return static_cast<double>(bits) * 0x1p-32; }
double whole_unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Uniform in (0, 1): the midpoints of equal intervals.
double open_unit(uint32_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }
double open_unit(uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

// The magnitude; the lowest bit is the sign, and is not used here.
double laplace_size(uint32_t bits) {
  return -std::log((static_cast<double>(bits >> 1) + 0.5) * 0x1p-31);
}
double laplace_size(uint64_t bits) { return -std::log(open_unit(bits)); }

template <class Bits>
double value_of(Distribution distribution, Bits bits) {
  switch (distribution) {
    case Distribution::laplace: return bits % 2 == 0 ? laplace_size(bits) : -laplace_size(bits);
    case Distribution::gumbel: return -std::log(-std::log(open_unit(bits)));
    default: return -std::log(open_unit(bits));
  }
}

// sin and cos of 2 pi t. Multiples of a quarter turn are removed first, exactly, so that results
// near 0 are accurate.
std::complex<double> turned(double t) {
  const double quarter = std::nearbyint(4 * t);
  const double angle = (4 * t - quarter) * (kPi / 2);
  const double c = std::cos(angle), s = std::sin(angle);
  switch (static_cast<int>(quarter) % 4) {
    case 0: return {c, s};
    case 1: return {-s, c};
    case 2: return {-c, -s};
    default: return {s, -c};
  }
}

// Box-Muller: two normal numbers from two uniform ones, exact including the tails. It uses
// functions that are accurate and vectorise well on every machine; the inverse distribution
// function would need two polynomials, for the centre and for the tails.
template <class Bits>
std::array<double, 2> box_muller(Bits a, Bits b) {
  const std::complex<double> both = std::sqrt(-2 * std::log(open_unit(a))) * turned(whole_unit(b));
  return {both.real(), both.imag()};
}

template <class Bits>
void store_values(Distribution distribution, DType dtype, const Bits* bits, int64_t count,
                  std::byte* out) {
  const auto store = [&](int64_t i, double value) {
    store_element(dtype, Element::of(value), out + i * size_of(dtype));
  };
  if (distribution != Distribution::normal) {
    for (int64_t i = 0; i < count; ++i) store(i, value_of(distribution, bits[i]));
    return;
  }
  for (int64_t i = 0; i < count; i += 2) {
    const auto [first, second] = box_muller(bits[i], bits[i + 1]);
    store(i, first);
    if (i + 1 < count) store(i + 1, second);
  }
}

// Multiples of the spacing between 1/2 and 1 in the dtype: each is representable, and none is 1.
template <class Bits>
void store_uniform(DType dtype, const Bits* bits, int64_t count, std::byte* out) {
  const int kept = info_of(dtype).format.mantissa_bits + 1;
  const int dropped = 8 * static_cast<int>(sizeof(Bits)) - kept;
  const double step = std::ldexp(1, -kept);
  for (int64_t i = 0; i < count; ++i) {
    const auto whole = static_cast<double>(static_cast<uint64_t>(bits[i]) >> dropped);
    store_element(dtype, Element::of(whole * step), out + i * size_of(dtype));
  }
}

}  // namespace

std::span<const std::string_view> enumerator_names(Distribution) {
  static constexpr std::array<std::string_view, 5> names{"uniform", "normal", "exponential",
                                                         "laplace", "gumbel"};
  return names;
}

std::array<double, 2> normal_pair(uint64_t first, uint64_t second) {
  return box_muller(first, second);
}

int64_t random_bytes(Distribution distribution, DType dtype) {
  const int64_t size = size_of(dtype);
  return distribution == Distribution::uniform ? size : std::max<int64_t>(size, 4);
}

void random_values(Distribution distribution, DType dtype, const uint32_t* words, int64_t count,
                   std::byte* out) {
  const auto* bytes = reinterpret_cast<const std::byte*>(words);
  const bool uniform = distribution == Distribution::uniform;
  switch (random_bytes(distribution, dtype)) {
    case 1: return store_uniform(dtype, reinterpret_cast<const uint8_t*>(bytes), count, out);
    case 2: {
      std::array<uint16_t, kRandomPiece> bits;
      std::memcpy(bits.data(), bytes, static_cast<size_t>(count) * 2);
      return store_uniform(dtype, bits.data(), count, out);
    }
    case 4:
      return uniform ? store_uniform(dtype, words, count, out)
                     : store_values(distribution, dtype, words, count, out);
    default: {
      std::array<uint64_t, kRandomPiece> bits;
      std::memcpy(bits.data(), bytes, static_cast<size_t>(count + count % 2) * 8);
      return uniform ? store_uniform(dtype, bits.data(), count, out)
                     : store_values(distribution, dtype, bits.data(), count, out);
    }
  }
}

}  // namespace plait
