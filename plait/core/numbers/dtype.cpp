#include "plait/core/numbers/dtype.h"

#include <cmath>

#include "plait/core/error.h"

namespace plait {

namespace {

constexpr bool is_in_order(const std::array<DTypeInfo, kDTypeCount>& table) {
  for (size_t i = 0; i < table.size(); ++i) {
    if (static_cast<size_t>(table[i].dtype) != i) return false;
  }
  return true;
}
static_assert(is_in_order(kDTypes), "a row for each enumerator, in their order");

}  // namespace

void throw_not_a_dtype(int number) {
  throw TypeError("{} is not a dtype", number)
      .hint(fmt::format("the dtypes are numbered 0 to {}", kDTypeCount - 1));
}

std::string_view name_of(DType dtype) { return info_of(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

std::optional<DType> parse_dtype_or_alias(std::string_view name) {
  for (const DTypeInfo& info : kDTypes) {
    if (info.name == name || info.long_name == name) return info.dtype;
  }
  return std::nullopt;
}

FloatLimits float_limits(DType dtype) {
  if (!is_inexact(dtype)) {
    throw TypeError("{} has no floating-point limits", name_of(dtype))
        .hint("integer_limits() has those of the integer dtypes");
  }
  const FloatFormat format = info_of(dtype).format;
  const int last_exponent = (1 << format.exponent_bits) - 1 - format.bias();
  const double step = std::ldexp(1.0, -format.mantissa_bits);
  const double smallest_normal = std::ldexp(1.0, 1 - format.bias());
  // The last exponent is reserved for infinity and NaN; in formats without infinity only its last
  // mantissa is, for NaN.
  const double max = format.has_infinity ? std::ldexp(2 - step, last_exponent - 1)
                                         : std::ldexp(2 - 2 * step, last_exponent);
  return {.bits = 1 + format.exponent_bits + format.mantissa_bits,
          .format = format,
          .epsilon = step,
          .max = max,
          .smallest_normal = smallest_normal,
          .smallest_subnormal = smallest_normal * step};
}

IntegerLimits integer_limits(DType dtype) {
  if (!is_integer(dtype)) {
    throw TypeError("{} has no integer limits", name_of(dtype))
        .hint("float_limits() has those of the floating and complex dtypes");
  }
  const int bits = static_cast<int>(size_of(dtype)) * 8;
  const uint64_t all_ones = ~uint64_t{0} >> (64 - bits);
  if (!is_signed(dtype)) return {.bits = bits, .min = 0, .max = all_ones};
  const uint64_t max = all_ones >> 1;
  return {.bits = bits, .min = -static_cast<int64_t>(max) - 1, .max = max};
}

}  // namespace plait
