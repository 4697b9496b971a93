// The element types and their properties. See promotion.h for type promotion and element.h for
// values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace plait {

enum class DType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3,
  f8e5m2,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  c64,
  c128,
  key,  // the state of a random stream: opaque, never promoted or cast
};
inline constexpr int kDTypeCount = 18;

enum class DTypeKind : uint8_t { boolean, integer, floating, complex, key };

// A binary floating-point format: a sign bit, then the exponent, then the mantissa.
struct FloatFormat {
  uint8_t exponent_bits = 0;
  uint8_t mantissa_bits = 0;
  bool has_infinity =
      false;  // if not, the largest exponent is an ordinary one, and all ones is NaN

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  friend bool operator==(const FloatFormat&, const FloatFormat&) = default;
};

struct DTypeInfo {
  DType dtype;
  std::string_view name;       // as in the IR
  std::string_view long_name;  // as in NumPy and ml_dtypes
  DTypeKind kind;
  bool is_signed;
  int8_t size;         // bytes
  FloatFormat format;  // format of floating dtypes, and of the parts of complex ones
};

// The table of all dtypes, in the order of the enumerators.
inline constexpr std::array<DTypeInfo, kDTypeCount> kDTypes = {{
    {DType::f64, "f64", "float64", DTypeKind::floating, true, 8, {11, 52, true}},
    {DType::f32, "f32", "float32", DTypeKind::floating, true, 4, {8, 23, true}},
    {DType::f16, "f16", "float16", DTypeKind::floating, true, 2, {5, 10, true}},
    {DType::bf16, "bf16", "bfloat16", DTypeKind::floating, true, 2, {8, 7, true}},
    {DType::f8e4m3, "f8e4m3", "float8_e4m3fn", DTypeKind::floating, true, 1, {4, 3, false}},
    {DType::f8e5m2, "f8e5m2", "float8_e5m2", DTypeKind::floating, true, 1, {5, 2, true}},
    {DType::i8, "i8", "int8", DTypeKind::integer, true, 1, {}},
    {DType::i16, "i16", "int16", DTypeKind::integer, true, 2, {}},
    {DType::i32, "i32", "int32", DTypeKind::integer, true, 4, {}},
    {DType::i64, "i64", "int64", DTypeKind::integer, true, 8, {}},
    {DType::u8, "u8", "uint8", DTypeKind::integer, false, 1, {}},
    {DType::u16, "u16", "uint16", DTypeKind::integer, false, 2, {}},
    {DType::u32, "u32", "uint32", DTypeKind::integer, false, 4, {}},
    {DType::u64, "u64", "uint64", DTypeKind::integer, false, 8, {}},
    {DType::boolean, "bool", "bool", DTypeKind::boolean, false, 1, {}},
    {DType::c64, "c64", "complex64", DTypeKind::complex, true, 8, {8, 23, true}},
    {DType::c128, "c128", "complex128", DTypeKind::complex, true, 16, {11, 52, true}},
    {DType::key, "key", "key", DTypeKind::key, false, 16, {}},
}};

[[noreturn]] void throw_not_a_dtype(int number);

// TypeError for a value that is not an enumerator, as in all functions below.
constexpr const DTypeInfo& info_of(DType dtype) {
  const auto index = static_cast<int>(dtype);
  if (index >= kDTypeCount) throw_not_a_dtype(index);
  return kDTypes[static_cast<size_t>(index)];
}

std::string_view name_of(DType dtype);                             // "f32", "bool", "key"
std::optional<DType> parse_dtype(std::string_view name);           // the names returned by name_of
std::optional<DType> parse_dtype_or_alias(std::string_view name);  // also "float32", "int64", ...

constexpr int64_t size_of(DType dtype) { return info_of(dtype).size; }  // bytes of one element
constexpr DTypeKind kind_of(DType dtype) { return info_of(dtype).kind; }

constexpr bool is_boolean(DType dtype) { return kind_of(dtype) == DTypeKind::boolean; }
constexpr bool is_integer(DType dtype) { return kind_of(dtype) == DTypeKind::integer; }
constexpr bool is_floating(DType dtype) { return kind_of(dtype) == DTypeKind::floating; }
constexpr bool is_complex(DType dtype) { return kind_of(dtype) == DTypeKind::complex; }
constexpr bool is_inexact(DType dtype) { return is_floating(dtype) || is_complex(dtype); }
constexpr bool is_key(DType dtype) { return kind_of(dtype) == DTypeKind::key; }
constexpr bool is_signed(DType dtype) { return info_of(dtype).is_signed; }  // has negative numbers

// The dtype of the parts of a complex dtype; any other dtype unchanged.
constexpr DType real_dtype(DType dtype) {
  if (!is_complex(dtype)) return dtype;
  return dtype == DType::c64 ? DType::f32 : DType::f64;
}

struct FloatLimits {
  int bits;  // bits of the integer
  FloatFormat format;
  double epsilon;  // the step from 1 to the next larger number
  double max;      // the largest finite number; the lowest is -max
  double smallest_normal;
  double smallest_subnormal;
};

struct IntegerLimits {
  int bits;
  int64_t min;
  uint64_t max;
};

FloatLimits float_limits(
    DType dtype);  // limits of the parts of a complex dtype; TypeError if not inexact
IntegerLimits integer_limits(DType dtype);  // TypeError if not an integer dtype

}  // namespace plait
