// Regular ranges along an axis (`count` indices start, start + step, …), and whether they are
// within its size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plait/core/location.h"
#include "plait/core/sizes/dim.h"

namespace plait {

struct SliceRange {
  Dim start = 0;
  Dim count = 0;
  int64_t step = 1;

  bool is_whole(Dim size) const { return same(start, Dim(0)) && same(count, size) && step == 1; }
  // True if concrete numbers show that the range leads outside.
  bool is_outside(Dim size) const;
  [[noreturn]] void refuse(std::string_view function, Dim size, int64_t axis,
                           const std::string& array, Location location = {}) const;
  // True if the range is inside for any values of the symbolic sizes.
  bool is_safe(Dim size) const;
};

}  // namespace plait
