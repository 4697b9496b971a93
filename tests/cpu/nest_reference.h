// Reference semantics of a nest: point-by-point evaluation in f64.
#pragma once

#include <vector>

#include "tests/cpu/nest_support.h"

namespace plait::nest_test {

// Runs the nest on every row and column and stores into `results`, which keep their other elements.
// Accumulated results start from the neutral element.
void run_reference(const Nest& nest, const std::vector<const Elements*>& parameters,
                   const std::vector<Elements*>& results, const SymbolMap<int64_t>& symbols = {});

// Compiles the nest at every level, runs it on random elements, and compares with the reference.
// Counts are numbers of elements.
void check_nest(const Nest& nest, const std::vector<size_t>& parameter_counts,
                const std::vector<size_t>& result_counts, const SymbolMap<int64_t>& symbols = {},
                double least_tolerance = 0);

// Tolerance for a dtype, relative for numbers of magnitude 1 and above.
double relative_error_of(DType dtype);

}  // namespace plait::nest_test
