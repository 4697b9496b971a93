// Compiled nests compared with point-by-point evaluation.
#pragma once

#include <vector>

#include "tests/cpu/nest_support.h"
#include "tests/support/nest_points.h"

namespace plait::nest_test {

// Compiles the nest at every level, runs it on random elements, and compares with the reference.
// Counts are numbers of elements.
void check_nest(const Nest& nest, const std::vector<size_t>& parameter_counts,
                const std::vector<size_t>& result_counts, const SymbolMap<int64_t>& symbols = {},
                double least_tolerance = 0);

}  // namespace plait::nest_test
