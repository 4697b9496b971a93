// Order-preserving conversion of numbers to unsigned integers: −0 and 0 have the same key, and NaN
// has the greatest.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <type_traits>

#include "plait/core/numbers/element.h"

namespace plait {

template <size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

template <class T>
inline constexpr bool kHasOrder = std::is_arithmetic_v<T> || kIsPackedFloat<T>;

template <class T>
class OrderKey {
 public:
  using Key = UnsignedOf<sizeof(T)>;

  static Key of(T x) {
    const auto bits = std::bit_cast<Key>(x);
    if constexpr (kIsFloat) {
      const auto magnitude = static_cast<Key>(bits & static_cast<Key>(~kSign));
      if (magnitude > kGreatest) return kNaN;
      if (magnitude == 0) return kSign;
      return static_cast<Key>((bits & kSign) != 0 ? ~bits : bits | kSign);
    } else {
      return std::is_signed_v<T> ? static_cast<Key>(bits ^ kSign) : bits;
    }
  }

  // Keys shared by several numbers: that of 0 and −0, and that of all NaNs.
  static constexpr std::span<const Key> shared_keys() {
    return std::span(kShared).first(kIsFloat ? 2 : 0);
  }
  static bool is_shared(Key key) { return kIsFloat && (key == kSign || key == kNaN); }
  // The inverse, for keys that are not shared.
  static T number(Key key) {
    if constexpr (kIsFloat) {
      return std::bit_cast<T>(static_cast<Key>((key & kSign) != 0 ? key ^ kSign : ~key));
    } else {
      return std::bit_cast<T>(std::is_signed_v<T> ? static_cast<Key>(key ^ kSign) : key);
    }
  }

  static constexpr Key kNaN = static_cast<Key>(~Key{0});

 private:
  static constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsPackedFloat<T>;
  static constexpr Key kSign = static_cast<Key>(Key{1} << (8 * sizeof(T) - 1));

  // The magnitude of ∞, or of the greatest number if the format has no ∞.
  static constexpr Key greatest() {
    if constexpr (kIsFloat) {
      constexpr FloatFormat format = info_of(kDTypeOf<T>).format;
      const auto exponent = ((Key{1} << format.exponent_bits) - 1) << format.mantissa_bits;
      const auto mantissa = (Key{1} << format.mantissa_bits) - 1;
      return static_cast<Key>(format.has_infinity ? exponent : (exponent | mantissa) - 1);
    } else {
      return 0;
    }
  }
  static constexpr Key kGreatest = greatest();
  static constexpr Key kShared[] = {kSign, kNaN};
};

}  // namespace plait
