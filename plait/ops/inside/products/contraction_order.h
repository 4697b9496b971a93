// In which order several labelled tensors are multiplied.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "plait/ops/inside/products/contraction.h"

namespace plait {

// Steps that each take two out of a list and put their product at its end. The fewest
// multiplications that a search through all orders finds, or for more than ten operands one that
// takes the cheapest step each time. `sizes` of the labels may be guesses.
std::vector<std::pair<size_t, size_t>> contraction_order(std::vector<LabelSet> operands,
                                                         LabelSet result,
                                                         std::span<const double> sizes);

}  // namespace plait
