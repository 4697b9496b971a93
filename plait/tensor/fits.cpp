#include "plait/tensor/fits.h"

#include "plait/core/error.h"

namespace plait {

bool fits(const Scalar& scalar, DType dtype) {
  const bool is_limited = is_integer(dtype) && dtype != DType::i64;
  if (!is_limited || scalar.kind() != ScalarKind::integer || scalar.is_symbolic()) return true;
  const auto value = static_cast<int64_t>(scalar.element().integer);
  if (!is_signed(dtype) && value < 0) return false;
  const int64_t bits = 8 * size_of(dtype) - (is_signed(dtype) ? 1 : 0);
  return bits >= 63 || (value >> bits) == (value < 0 ? -1 : 0);
}

void expect_fits(const Scalar& scalar, DType dtype) {
  if (fits(scalar, dtype)) return;
  throw ValueError("{} does not fit into {}", static_cast<int64_t>(scalar.element().integer),
                   name_of(dtype))
      .at(Location::of_caller())
      .hint("astype(x, dtype) gives a tensor of a wider dtype");
}

}  // namespace plait
