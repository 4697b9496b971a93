// Output of tensors to streams and format strings.
#include <ostream>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/tensor/tensor.h"

namespace plait {
namespace {

template <class Number>
std::string formatted(std::string_view spec, const Number& number) {
  return fmt::format(fmt::runtime(fmt::format("{{:{}}}", spec)), number);
}

std::string formatted_scalar(std::string_view spec, const Tensor& x) {
  const DType dtype = x.dtype();
  switch (kind_of(dtype)) {
    case DTypeKind::boolean: return formatted(spec, x.item<bool>());
    case DTypeKind::integer:
      return is_signed(dtype) ? formatted(spec, x.item<int64_t>())
                              : formatted(spec, x.item<uint64_t>());
    case DTypeKind::floating:
      return dtype == DType::f64 ? formatted(spec, x.item<double>())
                                 : formatted(spec, x.item<float>());
    default: break;
  }
  throw TypeError("{} cannot be formatted by '{}'", x.type().text(), spec)
      .hint("real and imag return the parts of complex numbers");
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << x.text(); }

}  // namespace plait

fmt::format_context::iterator fmt::formatter<plait::Tensor>::format(const plait::Tensor& x,
                                                                    format_context& context) const {
  if (spec_.empty()) return format_to(context.out(), "{}", x.text());
  if (x.rank() != 0) {
    throw plait::TypeError("a tensor of several numbers, {}, cannot be formatted by '{}'",
                           x.type().text(), spec_)
        .hint("{} without a colon prints all of them");
  }
  return format_to(context.out(), "{}", plait::formatted_scalar(spec_, x));
}
