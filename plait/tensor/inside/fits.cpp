#include "plait/tensor/inside/fits.h"

#include <cstdint>
#include <optional>

#include "plait/core/error.h"
#include "plait/tensor/tracing/trace.h"

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

}  // namespace

bool fits(const Scalar& scalar, DType dtype) {
  const bool is_limited = is_integer(dtype) && dtype != DType::i64;
  if (!is_limited || scalar.kind() != ScalarKind::integer) return true;
  const std::optional<int64_t> value = number_of(scalar);
  if (!value) return true;
  const int64_t bits = 8 * size_of(dtype) - (is_signed(dtype) ? 1 : 0);
  const int64_t most = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
  const int64_t least = is_signed(dtype) ? -most - 1 : 0;
  if (scalar.is_symbolic()) return is_between(scalar.size(), least, most);
  return least <= *value && *value <= most;
}

void expect_fits(const Scalar& scalar, DType dtype) {
  if (fits(scalar, dtype)) return;
  throw ValueError("{} does not fit into {}", *number_of(scalar), name_of(dtype))
      .at(Location::of_caller())
      .hint("astype(x, dtype) returns a tensor of a wider dtype");
}

}  // namespace plait
