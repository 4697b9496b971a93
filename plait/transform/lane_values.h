// Values of many lanes: what `vmap` computes with.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

// A value of each lane, along the first dimension; or one for all of them.
struct LaneValue {
  Tensor tensor;
  bool is_batched = false;
};

Shape without_first(const Shape& shape);
Shape with_first(Dim first, const Shape& shape);

std::vector<LaneValue> values_of(std::span<const Tensor> tensors, bool are_batched);
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
