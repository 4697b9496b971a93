// Tensors whose dimensions have labels: what einsum and its like are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

inline constexpr size_t kMostLabels = 64;

using Label = uint32_t;     // below kMostLabels
using LabelSet = uint64_t;  // a bit each
constexpr LabelSet set_of(Label label) { return LabelSet{1} << label; }

struct Labelled {
  Tensor x;
  std::vector<Label> labels;  // of its dimensions, each once

  LabelSet set() const;
};

// All of them multiplied, summed over the labels that are not in `result`, whose order the
// dimensions then have. Dimensions of one label have one size.
Tensor contract(std::vector<Labelled> operands, const std::vector<Label>& result);

}  // namespace plait
