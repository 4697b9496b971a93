#include "plait/core/numbers/element.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "plait/core/error.h"

namespace plait {

namespace {

template <class T>
T read(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

template <class Integer>
Integer saturated(double value) {
  using Limits = std::numeric_limits<Integer>;
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  if (value >= std::ldexp(1.0, Limits::digits)) return Limits::max();
  return static_cast<Integer>(value);
}

// The integer reduced to 53 significant bits, where the last one is sticky: it is set if any
// dropped bit is. Rounding it to fewer bits gives the same result as rounding the integer itself.
uint64_t with_sticky_bit(uint64_t magnitude) {
  constexpr uint64_t kDropped = (uint64_t{1} << 11) - 1;
  if ((magnitude >> 53) == 0) return magnitude;
  const uint64_t sticky = (magnitude & kDropped) != 0 ? kDropped + 1 : 0;
  return (magnitude & ~kDropped) | sticky;
}

double to_be_rounded(const Element& element) {
  if (!element.is_signed) return static_cast<double>(with_sticky_bit(element.integer));
  const bool negative = static_cast<int64_t>(element.integer) < 0;
  const uint64_t magnitude = negative ? 0 - element.integer : element.integer;
  const auto value = static_cast<double>(with_sticky_bit(magnitude));
  return negative ? -value : value;
}

bool is_exact(const Element& element) {
  return element.kind == DTypeKind::integer || element.kind == DTypeKind::boolean;
}

template <class Real>
Real to_real(const Element& element) {
  if constexpr (kIsPackedFloat<Real>) {
    return Real(is_exact(element) ? to_be_rounded(element) : element.number.real());
  } else {
    if (!is_exact(element)) return static_cast<Real>(element.number.real());
    if (!element.is_signed) return static_cast<Real>(element.integer);
    return static_cast<Real>(static_cast<int64_t>(element.integer));
  }
}

template <class T>
T to(const Element& element) {
  if constexpr (std::is_same_v<T, bool>) {
    return is_exact(element) ? element.integer != 0 : element.number != std::complex<double>(0);
  } else if constexpr (std::integral<T>) {
    return is_exact(element) ? static_cast<T>(element.integer)
                             : saturated<T>(element.number.real());
  } else if constexpr (kIsComplex<T>) {
    using Real = typename T::value_type;
    return {to_real<Real>(element), static_cast<Real>(element.number.imag())};
  } else {
    return to_real<T>(element);
  }
}

template <class T>
Element element_of(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return Element::of(value);
  } else if constexpr (std::signed_integral<T>) {
    return Element::of_signed(value);
  } else if constexpr (std::unsigned_integral<T>) {
    return Element::of_unsigned(value);
  } else if constexpr (kIsComplex<T>) {
    return Element::of(std::complex<double>(value));
  } else {
    return Element::of(static_cast<double>(value));
  }
}

// True if the conversion is a static_cast, which the compiler vectorises.
template <class From, class To>
constexpr bool kIsCast =
    std::is_arithmetic_v<From> && std::is_arithmetic_v<To> && !std::is_same_v<To, bool> &&
    (std::integral<From> || std::floating_point<To>);

template <class From, class To>
void cast(const std::byte* source, std::byte* target, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    To value;
    if constexpr (std::is_same_v<From, bool>) {
      value = static_cast<To>(source[i] != std::byte{0});
    } else {
      value = static_cast<To>(read<From>(source + i * static_cast<int64_t>(sizeof(From))));
    }
    std::memcpy(target + i * static_cast<int64_t>(sizeof(To)), &value, sizeof(To));
  }
}

// Converts if it is such a cast; else returns false.
bool cast(DType from, const std::byte* source, DType to, std::byte* target, int64_t count) {
  return with_element_type(from, [&]<class From>(std::type_identity<From>) {
    return with_element_type(to, [&]<class To>(std::type_identity<To>) {
      if constexpr (kIsCast<From, To>) cast<From, To>(source, target, count);
      return kIsCast<From, To>;
    });
  });
}

[[noreturn]] void throw_key() {
  throw TypeError("a key cannot be converted").hint("draw numbers from it, or split it");
}

}  // namespace

Element Element::of(bool value) {
  return {.kind = DTypeKind::boolean, .is_signed = false, .integer = value, .number = {}};
}

Element Element::of(double value) {
  return {.kind = DTypeKind::floating, .is_signed = true, .integer = 0, .number = value};
}

Element Element::of(std::complex<double> value) {
  return {.kind = DTypeKind::complex, .is_signed = true, .integer = 0, .number = value};
}

Element Element::of_signed(int64_t value) {
  return {.kind = DTypeKind::integer,
          .is_signed = true,
          .integer = static_cast<uint64_t>(value),
          .number = {}};
}

Element Element::of_unsigned(uint64_t value) {
  return {.kind = DTypeKind::integer, .is_signed = false, .integer = value, .number = {}};
}

Element load_element(DType dtype, const std::byte* source) {
  return with_element_type(dtype, [&]<class T>(std::type_identity<T>) -> Element {
    if constexpr (std::is_same_v<T, KeyBits>) {
      throw_key();
    } else if constexpr (std::is_same_v<T, bool>) {
      return Element::of(*source != std::byte{0});
    } else {
      return element_of(read<T>(source));
    }
  });
}

void store_element(DType dtype, const Element& element, std::byte* target) {
  with_element_type(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, KeyBits>) {
      throw_key();
    } else {
      const T value = to<T>(element);
      std::memcpy(target, &value, sizeof(T));
    }
  });
}

void convert(DType from, const std::byte* source, DType to, std::byte* target, int64_t count) {
  if (count < 0) throw ValueError("convert: the count of elements is {}, below 0", count);
  const int64_t from_size = size_of(from);
  const int64_t to_size = size_of(to);
  if (from == to) {
    if (count > 0 && source != target) {
      std::memcpy(target, source, static_cast<size_t>(count * to_size));
    }
    return;
  }
  if (is_key(from) || is_key(to)) throw_key();
  if (cast(from, source, to, target, count)) return;
  for (int64_t i = 0; i < count; ++i) {
    store_element(to, load_element(from, source + i * from_size), target + i * to_size);
  }
}

}  // namespace plait
