// Elements in memory: the C++ type of each dtype, and conversions between all dtypes.
#pragma once

#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "plait/core/numbers/dtype.h"
#include "plait/core/numbers/float_formats.h"

namespace plait {

// The state of a random stream in memory.
struct KeyBits {
  uint64_t words[2] = {0, 0};
  friend bool operator==(const KeyBits&, const KeyBits&) = default;
};

// Calls visit(std::type_identity<T>{}) with the C++ type of the dtype's elements.
template <class Visit>
constexpr decltype(auto) with_element_type(DType dtype, Visit&& visit) {
  switch (dtype) {
    case DType::f64: return visit(std::type_identity<double>{});
    case DType::f32: return visit(std::type_identity<float>{});
    case DType::f16: return visit(std::type_identity<Float16>{});
    case DType::bf16: return visit(std::type_identity<BFloat16>{});
    case DType::f8e4m3: return visit(std::type_identity<Float8E4M3>{});
    case DType::f8e5m2: return visit(std::type_identity<Float8E5M2>{});
    case DType::i8: return visit(std::type_identity<int8_t>{});
    case DType::i16: return visit(std::type_identity<int16_t>{});
    case DType::i32: return visit(std::type_identity<int32_t>{});
    case DType::i64: return visit(std::type_identity<int64_t>{});
    case DType::u8: return visit(std::type_identity<uint8_t>{});
    case DType::u16: return visit(std::type_identity<uint16_t>{});
    case DType::u32: return visit(std::type_identity<uint32_t>{});
    case DType::u64: return visit(std::type_identity<uint64_t>{});
    case DType::boolean: return visit(std::type_identity<bool>{});
    case DType::c64: return visit(std::type_identity<std::complex<float>>{});
    case DType::c128: return visit(std::type_identity<std::complex<double>>{});
    case DType::key: return visit(std::type_identity<KeyBits>{});
  }
  throw_not_a_dtype(static_cast<int>(dtype));
}

template <class T>
inline constexpr bool kIsPackedFloat = false;
template <DType dtype>
inline constexpr bool kIsPackedFloat<PackedFloat<dtype>> = true;

template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// The dtype whose elements T holds.
template <class T>
constexpr DType dtype_of() {
  for (const DTypeInfo& info : kDTypes) {
    const bool same = with_element_type(
        info.dtype, []<class U>(std::type_identity<U>) { return std::is_same_v<T, U>; });
    if (same) return info.dtype;
  }
  throw_not_a_dtype(-1);
}
template <class T>
inline constexpr DType kDTypeOf = dtype_of<T>();  // does not compile if there is none

// One element of any dtype but key, without loss.
struct Element {
  DTypeKind kind = DTypeKind::floating;  // boolean, integer, floating or complex
  bool is_signed = true;                 // an integer is int64_t(integer), else uint64_t
  uint64_t integer = 0;                  // value of a boolean (0 or 1) or an integer
  std::complex<double> number;           // value of a floating (its real part) or a complex

  static Element of(bool value);
  static Element of(double value);
  static Element of(std::complex<double> value);
  static Element of_signed(int64_t value);
  static Element of_unsigned(uint64_t value);
};

// Memory need not be aligned. TypeError for key.
Element load_element(DType dtype, const std::byte* source);

// Converts as follows, here and in convert():
// - number to bool: whether it differs from 0 (so NaN is true); bool to number: 0 or 1
// - integer to integer: modulo 2^bits
// - floating to integer: towards 0, saturated at the limits, NaN to 0
// - anything to floating or complex: rounded once, to nearest and ties to even
// - complex to anything but complex and bool: its real part
void store_element(DType dtype, const Element& element, std::byte* target);

// Converts `count` elements one by one; equal dtypes are copied bit for bit, which is all that key
// allows. The two ranges must not overlap, unless they are the same and so are the sizes of the
// dtypes. TypeError for key and another dtype, ValueError for a negative count.
void convert(DType from, const std::byte* source, DType to, std::byte* target, int64_t count);

}  // namespace plait
