// Elements chosen along one axis by their places there.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

struct PickAttributes {
  int64_t axis = 0;
  static constexpr std::string_view kRequired[] = {"axis"};
};
struct AddAlongAttributes {
  int64_t axis = 0;
  Dim size = 0;
  static constexpr std::string_view kRequired[] = {"axis", "size"};
};

// x[…, indices[…, k, …], …]: whole numbers from 0, whose sizes are those of x but along the axis.
Tensor pick_along(const Tensor& x, const Tensor& indices, int64_t axis);
// Zeros, `size` along the axis, to which each value is added at its index.
Tensor add_along(const Tensor& values, const Tensor& indices, int64_t axis, Dim size);

void register_pick_ops();

}  // namespace plait
