// Primitives for tests: enough to write any program, small enough to read quickly.
//
//   add subtract multiply divide negate maximum exp log sin cos sqrt less equal select elementwise
//   convert {dtype}            the same numbers in another dtype
//   sum                        over the first dimension
//   iota {size}                i64[size](0, 1, 2, …)
//   halve {second}             the first half of a vector, which is the shorter one, or the second
//   concat, append, take       concatenated vectors, one more element, the element at an index
//   <k> nonzero                indices at which a vector is not 0
//   print {label}, tick        observable: prints a line; the number of earlier ticks
//   all_reduce_sum {axes}      collective
#pragma once

#include <string>

#include "plait/ir/primitive.h"

namespace plait::ir {

struct ConvertAttributes {
  DType dtype = DType::f32;
  static constexpr std::string_view kRequired[] = {"dtype"};
};
struct IotaAttributes {
  Dim size = 0;
  static constexpr std::string_view kRequired[] = {"size"};
};
struct HalveAttributes {
  bool second = false;
};
struct PrintAttributes {
  std::string label;
};
struct AllReduceAttributes {
  AxisSet axes;
  static constexpr std::string_view kRequired[] = {"axes"};
};

// Registers those whose names are free: after plait::register_all(), those that it lacks.
// Idempotent.
void register_scalar_ops();

}  // namespace plait::ir
