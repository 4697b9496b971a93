// Conversion of random bits to numbers of a distribution, one by one.
#include <array>
#include <cmath>
#include <cstring>

#include "plait/core/numbers/element.h"
#include "plait/ops/inside/random/random_names.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait {
namespace {

using draws::laplace_size;
using draws::open_unit;

template <class Bits>
double value_of(Distribution distribution, Bits bits) {
  switch (distribution) {
    case Distribution::laplace: return bits % 2 == 0 ? laplace_size(bits) : -laplace_size(bits);
    case Distribution::gumbel: return -std::log(-std::log(open_unit(bits)));
    default: return -std::log(open_unit(bits));
  }
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
    const auto [first, second] = draws::normal_pair(bits[i], bits[i + 1]);
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
