// Batched values: the data of `vmap`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

// The samples (samples) along a batched axis.
struct Samples {
  Dim count;
  // Name of the axis in the function, if it has one. Then a value whose type does not vary along it
  // is shared by all samples.
  std::string axis = {};

  // True if samples may differ in a value of that type.
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

// A batched value, one for each sample along the first dimension; or one value shared by all
// samples.
struct BatchedValue {
  Tensor tensor;
  bool is_batched = false;
};

Shape without_first(const Shape& shape);
Shape with_first(Dim first, const Shape& shape);

std::vector<BatchedValue> values_of(std::span<const Tensor> tensors, bool are_batched);
std::vector<BatchedValue> with_flags(std::span<const Tensor> tensors,
                                     const std::vector<bool>& flags);
std::vector<Tensor> tensors_in(std::span<const BatchedValue> values);
std::vector<bool> flags_of(std::span<const BatchedValue> values);

// Returns the batched value; a shared one is broadcast.
Tensor of_all_samples(const BatchedValue& value, Dim samples);
// Reshapes one truth value a sample so that it broadcasts against a batched tensor.
Tensor as_rows(const Tensor& truth, const Tensor& like);
// x on the device of the other tensor, if both are known: samples may be divided by a condition
// that is computed elsewhere.
Tensor beside(const Tensor& x, const Tensor& other);
// The values of the samples with the indices `who`.
std::vector<BatchedValue> picked_for(std::span<const BatchedValue> values, const Tensor& who,
                                     Dim samples);
// Batched values, in which samples that are not `there` are replaced by the first sample that is.
std::vector<BatchedValue> filled(std::span<const Tensor> tensors,
                                 const std::vector<bool>& are_batched, const Tensor& there);
// Elements of which there are none, or that are overwritten: zeros, or keys.
Tensor blank(const Shape& shape, DType dtype);

}  // namespace plait
