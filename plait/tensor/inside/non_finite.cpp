#include "plait/tensor/inside/non_finite.h"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/numbers/element.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

template <class T>
bool holds_nan(const T& x) {
  if constexpr (kIsComplex<T>) {
    return std::isnan(x.real()) || std::isnan(x.imag());
  } else {
    return std::isnan(static_cast<double>(x));
  }
}

template <class T>
bool holds_inf(const T& x) {
  if constexpr (kIsComplex<T>) {
    return std::isinf(x.real()) || std::isinf(x.imag());
  } else {
    return std::isinf(static_cast<double>(x));
  }
}

// True if a number has the largest exponent, which only NaN and infinities have in formats with
// infinities. The inner loop has a constant length, so that it is vectorised.
template <class Bits>
bool has_full_exponent(const Bits* bits, int64_t count, Bits exponent) {
  constexpr int64_t kStep = 32;
  std::atomic<bool> found = false;
  parallel_for(count / kStep, 1 << 10, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && !found.load(std::memory_order_relaxed); ++i) {
      Bits any = 0;
      for (int64_t k = 0; k < kStep; ++k) {
        any |= static_cast<Bits>((bits[i * kStep + k] & exponent) == exponent);
      }
      if (any != 0) found = true;
    }
  });
  for (int64_t i = count / kStep * kStep; i < count; ++i) {
    if ((bits[i] & exponent) == exponent) return true;
  }
  return found;
}

template <class Bits>
bool has_full_exponent(const Array& packed, const FloatFormat& format) {
  const int64_t count =
      packed.element_count() * packed.element_size() / static_cast<int64_t>(sizeof(Bits));
  const auto exponent =
      static_cast<Bits>(((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits);
  return has_full_exponent(reinterpret_cast<const Bits*>(packed.data()), count, exponent);
}

// False if the exponents show that all elements are finite.
bool may_hold_non_finite(const Array& packed) {
  const FloatFormat format = info_of(packed.dtype()).format;
  if (!format.has_infinity) return true;
  switch (size_of(real_dtype(packed.dtype()))) {
    case 2: return has_full_exponent<uint16_t>(packed, format);
    case 4: return has_full_exponent<uint32_t>(packed, format);
    case 8: return has_full_exponent<uint64_t>(packed, format);
    default: return true;
  }
}

}  // namespace

Sizes place_of(int64_t n, const Sizes& sizes) {
  Sizes place(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0; n /= sizes[axis]) place[axis] = n % sizes[axis];
  return place;
}

NonFinite non_finite_in(const Array& array) {
  NonFinite found;
  if (!is_inexact(array.dtype())) return found;
  const Array packed = array.contiguous();
  found.elements = packed.element_count();
  if (!may_hold_non_finite(packed)) return found;
  int64_t first = -1, at = 0;
  with_element_type(array.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kIsComplex<T> || kIsPackedFloat<T> || std::is_floating_point_v<T>) {
      for (const T& element : packed.elements<T>()) {
        const bool nan = holds_nan(element), inf = !nan && holds_inf(element);
        found.nan += nan;
        found.inf += inf;
        if ((nan || inf) && first < 0) first = at;
        ++at;
      }
    }
  });
  if (first >= 0) found.first = place_of(first, packed.sizes());
  return found;
}

std::string NonFinite::text() const {
  std::string counts;
  if (nan > 0) counts = fmt::format("{} nan", nan);
  if (inf > 0) counts += fmt::format("{}{} inf", counts.empty() ? "" : " and ", inf);
  if (first.empty()) return counts;
  return fmt::format("{} among {} elements, the first at [{}]", counts, elements,
                     fmt::join(first, ", "));
}

}  // namespace plait
