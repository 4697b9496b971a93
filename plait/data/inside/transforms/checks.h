// Checks of the fields of transforms.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "plait/core/error.h"

namespace plait::data::transforms {

inline void expect_probability(std::string_view name, double p) {
  if (!(p >= 0 && p <= 1)) throw ValueError("{}: p is {}, expected 0 to 1", name, p);
}

// Two finite numbers, in order, from `least` to `most`.
inline void expect_range(std::string_view name, std::string_view field,
                         const std::array<double, 2>& range, double least = -INFINITY,
                         double most = INFINITY) {
  if (range[0] <= range[1] && range[0] >= least && range[1] <= most && std::isfinite(range[0]) &&
      std::isfinite(range[1])) {
    return;
  }
  throw ValueError("{}: {} is [{}, {}], expected two numbers in order, from {} to {}", name, field,
                   range[0], range[1], least, most);
}

}  // namespace plait::data::transforms
