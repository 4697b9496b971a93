// What a nest means, point after point in doubles.
#pragma once

#include <vector>

#include "tests/cpu/nest_support.h"

namespace plait::nest_test {

// Runs the nest on every row and every column and stores into `results`, which hold what they hold
// before; accumulated ones begin with what the reduction begins with.
void run_reference(const Nest& nest, const std::vector<const Elements*>& parameters,
                   const std::vector<Elements*>& results, const SymbolMap<int64_t>& symbols = {});

// Compiles the nest at every level, runs it on random elements, and compares. `counts` are of the
// elements of parameters and results.
void check_nest(const Nest& nest, const std::vector<size_t>& parameter_counts,
                const std::vector<size_t>& result_counts, const SymbolMap<int64_t>& symbols = {},
                double least_tolerance = 0);

// What numbers of a dtype may be off by, of those of size 1 and above relatively.
double relative_error_of(DType dtype);

}  // namespace plait::nest_test
