// Values of many lanes: what `vmap` computes with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

// The lanes of an axis.
struct Lanes {
  Dim count;
  // What the function calls the axis, where it has a name. Then a value that does not vary along
  // it, as its type says, is one for all lanes.
  std::string axis = {};

  // Whether lanes may differ in a value of that type.
  bool may_differ(const ir::Type& type) const {
    return axis.empty() || type.all_varying().contains(axis);
  }
  template <class Types>
  std::vector<bool> which_may_differ(const Types& types) const {
    std::vector<bool> which;
    for (const ir::Type& type : types) which.push_back(may_differ(type));
    return which;
  }
};

// A value of each lane, along the first dimension; or one for all of them.
struct LaneValue {
  Tensor tensor;
  bool is_batched = false;
};

Shape without_first(const Shape& shape);
Shape with_first(Dim first, const Shape& shape);

std::vector<LaneValue> values_of(std::span<const Tensor> tensors, bool are_batched);
std::vector<LaneValue> with_flags(std::span<const Tensor> tensors, const std::vector<bool>& flags);
std::vector<Tensor> tensors_in(std::span<const LaneValue> values);
std::vector<bool> flags_of(std::span<const LaneValue> values);

// The value of each lane, repeated where it is one for all.
Tensor of_all_lanes(const LaneValue& value, Dim lanes);
// One truth value a lane, stretched to the rows of a tensor.
Tensor as_rows(const Tensor& truth, const Tensor& like);
// The values of some of the lanes.
std::vector<LaneValue> picked_for(std::span<const LaneValue> values, const Tensor& who, Dim lanes);
// The values, where lanes that are not there are copies of the first that is.
std::vector<LaneValue> filled(std::span<const Tensor> tensors, const std::vector<bool>& are_batched,
                              const Tensor& there);

}  // namespace plait
