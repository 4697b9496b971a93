#include "plait/tensor/non_finite.h"

#include <cmath>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/element.h"

namespace plait {
namespace {

template <class T>
bool is_nan(const T& x) {
  if constexpr (kIsComplex<T>) {
    return std::isnan(x.real()) || std::isnan(x.imag());
  } else {
    return std::isnan(static_cast<double>(x));
  }
}

template <class T>
bool is_inf(const T& x) {
  if constexpr (kIsComplex<T>) {
    return std::isinf(x.real()) || std::isinf(x.imag());
  } else {
    return std::isinf(static_cast<double>(x));
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
  int64_t first = -1, at = 0;
  with_element_type(array.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kIsComplex<T> || kIsPackedFloat<T> || std::is_floating_point_v<T>) {
      for (const T& element : packed.elements<T>()) {
        const bool nan = is_nan(element), inf = !nan && is_inf(element);
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
