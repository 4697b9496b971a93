// What is computed of whole rows, of f32 or f64: the last dimension of dense arrays.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// e^x over its sum along the row. A row that is −∞ throughout gives NaN, or 0 where so wished.
void softmax_rows(const Array& x, bool masked_is_zero, Array& out);
// Its logarithm.
void log_softmax_rows(const Array& x, Array& out);

// (x − mean) · scale with scale = 1/√(variance + epsilon); or x · scale with the mean of x² for the
// variance. `scale` has one element a row.
void standardize_rows(const Array& x, bool is_centred, double epsilon, Array& out, Array& scale);

}  // namespace plait
