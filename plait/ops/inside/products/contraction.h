// Contraction of tensors with labelled dimensions, for einsum and similar functions.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

inline constexpr size_t kMostLabels = 64;

using Label = uint32_t;     // below kMostLabels
using LabelSet = uint64_t;  // bit set
constexpr LabelSet set_of(Label label) { return LabelSet{1} << label; }

struct Labelled {
  Tensor x;
  std::vector<Label> labels;  // labels of its dimensions, without repetitions

  LabelSet set() const;
};

// The product of all operands, summed over the labels that are not in `result`, with dimensions in
// the order of `result`. Dimensions with the same label have the same size.
Tensor contract(std::vector<Labelled> operands, const std::vector<Label>& result);

}  // namespace plait
