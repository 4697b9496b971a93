// Order of multiplication of several labelled tensors.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "plait/ops/inside/products/contraction.h"

namespace plait {

// A list of steps; each removes two operands from a list and appends their product. For up to ten
// operands it minimises the number of multiplications by an exhaustive search; for more it is
// greedy. `sizes` of the labels may be estimates.
std::vector<std::pair<size_t, size_t>> contraction_order(std::vector<LabelSet> operands,
                                                         LabelSet result,
                                                         std::span<const double> sizes);

}  // namespace plait
