#include "plait/tensor/inside/fits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

namespace {

// The value of an integer; for a symbol its actual size, empty if unknown.
std::optional<int64_t> number_of(const Scalar& scalar) {
  if (!scalar.is_symbolic()) return static_cast<int64_t>(scalar.element().integer);
  Trace* const trace = Trace::current();
  return trace == nullptr ? std::nullopt : trace->sizes().actual(scalar.size());
}

// Decides the condition and records a guard.
bool is_between(Dim size, int64_t least, int64_t most) {
  SizeContext& sizes = Trace::current()->sizes();
  return sizes.decide(size >= Dim(least)) && sizes.decide(size <= Dim(most));
}

// True if the integer that is left without the fraction fits; false for NaN and infinities.
bool fits_truncated(double number, DType dtype) {
  const IntegerLimits limits = integer_limits(dtype);
  const double whole = std::trunc(number), above = std::ldexp(1.0, limits.bits - is_signed(dtype));
  return static_cast<double>(limits.min) <= whole && whole < above;
}

std::string text_of(const Scalar& scalar) {
  if (scalar.kind() == ScalarKind::integer) return fmt::format("{}", *number_of(scalar));
  const std::complex<double> number = scalar.element().number;
  if (scalar.kind() == ScalarKind::floating) return fmt::format("{}", number.real());
  return fmt::format("{}{:+}j", number.real(), number.imag());
}

}  // namespace

bool fits(const Scalar& scalar, DType dtype) {
  if (!is_integer(dtype) || scalar.kind() == ScalarKind::boolean) return true;
  if (scalar.kind() != ScalarKind::integer) {
    return fits_truncated(scalar.element().number.real(), dtype);
  }
  const std::optional<int64_t> value = number_of(scalar);
  if (!value || dtype == DType::i64) return true;
  const IntegerLimits limits = integer_limits(dtype);
  const int64_t least = limits.min;
  const auto most = static_cast<int64_t>(std::min<uint64_t>(limits.max, INT64_MAX));
  if (scalar.is_symbolic()) return is_between(scalar.size(), least, most);
  return least <= *value && *value <= most;
}

void expect_fits(const Scalar& scalar, DType dtype) {
  if (!fits(scalar, dtype)) refuse_number(text_of(scalar), dtype);
}

void refuse_number(const std::string& number, DType dtype) {
  const IntegerLimits limits = integer_limits(dtype);
  throw ValueError("{} does not fit into {}, whose range is {} to {}", number, name_of(dtype),
                   limits.min, limits.max)
      .at(Location::of_caller())
      .hint("astype(x, dtype) returns a tensor of a wider dtype");
}

}  // namespace plait
