// Attributes of primitives that passes, kernels and the rules of other primitives read or build,
// beside their handles (primitives.h). All others are declared where their primitive is.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/core/sizes/dim.h"

namespace plait {

// Attributes of reshape and broadcast.
struct SizesAttributes {
  std::vector<Dim> sizes;
  static constexpr std::string_view kRequired[] = {"sizes"};
};
struct PermuteAttributes {
  std::vector<int64_t> axes;
  static constexpr std::string_view kRequired[] = {"axes"};
};

struct ReduceAttributes {
  std::vector<int64_t> axes = {};  // in ascending order
  bool needs_some = false;         // for maximum and minimum: an error if an axis is empty
  static constexpr std::string_view kRequired[] = {"axes"};
};
// Attributes of argmax and argmin.
struct ArgExtremeAttributes {
  int64_t axis = 0;
  static constexpr std::string_view kRequired[] = {"axis"};
};
// Attributes of the cumulative reductions and linear_recurrence.
struct ScanAttributes {
  int64_t axis = 0;
  bool reverse = false;
  static constexpr std::string_view kRequired[] = {"axis"};
};

}  // namespace plait
