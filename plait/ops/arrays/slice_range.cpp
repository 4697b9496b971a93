#include "plait/ops/arrays/slice_range.h"

#include "plait/core/error.h"
#include "plait/core/sizes/size_facts.h"

namespace plait {

bool SliceRange::is_outside(Dim size) const {
  if (!size.is_number() || !start.is_number() || !count.is_number()) return false;
  const auto holds = [&](int64_t i) { return i >= 0 && i < size.number(); };
  const int64_t first = start.number(), n = count.number();
  if (n <= 0) return n < 0;
  int64_t last = 0;
  const bool overflows =
      __builtin_mul_overflow(n - 1, step, &last) || __builtin_add_overflow(first, last, &last);
  return overflows || !holds(first) || !holds(last);
}

void SliceRange::refuse(std::string_view function, Dim size, int64_t axis, const std::string& array,
                        Location location) const {
  if (same(count, Dim(1))) {
    throw IndexError("{}: index {} is out of range for axis {} of {}, whose size is {}", function,
                     start, axis, array, size)
        .at(location);
  }
  throw IndexError("{}: {} elements from {} by {} are not within axis {} of {}, whose size is {}",
                   function, count, start, step, axis, array, size)
      .at(location);
}

bool SliceRange::is_safe(Dim size) const {
  if (size.is_number() && start.is_number() && count.is_number()) return true;
  constexpr int64_t kFar = int64_t{1} << 31;  // beyond it, size arithmetic might overflow
  if (step <= -kFar || step >= kFar) return false;
  const SizeFacts nothing_known;
  const Dim last = start + (count - 1) * step;
  const auto proved = [&](Dim low, Dim high) {
    return nothing_known.prove({low, SizeFact::less_equal, high}) == true;
  };
  if (!proved(0, count)) return false;
  // A range without elements may begin at the end. Whether count is 0 need not be known.
  return step > 0 ? proved(0, start) && proved(last + 1, size)
                  : proved(0, last) && proved(start + 1, size);
}

}  // namespace plait
