// Reference semantics of a nest: point-by-point evaluation in f64.
#pragma once

#include <vector>

#include "plait/core/sizes/dim.h"

#include "tests/support/nest_maker.h"

namespace plait::nest_test {

// Runs the nest on every row and column and stores into `results`, which keep their other elements.
// Accumulated results start from the neutral element.
void run_reference(const Nest& nest, const std::vector<const Elements*>& parameters,
                   const std::vector<Elements*>& results, const SymbolMap<int64_t>& symbols = {});

double real_of(DType dtype, const Element& element);
// Magnitudes are up to 2, or 16 for integers.
Elements random_elements(DType dtype, size_t count, unsigned seed);
// Tolerance for a dtype, relative for numbers of magnitude 1 and above.
double relative_error_of(DType dtype);

}  // namespace plait::nest_test
