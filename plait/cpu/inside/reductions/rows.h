// Functions of whole rows, the last dimension of contiguous arrays of f32 or f64.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// Softmax of each row. A row of only −∞ gives NaN, or 0 if masked_is_zero.
void softmax_rows(const Array& x, bool masked_is_zero, Array& out);
// The logarithm of softmax.
void log_softmax_rows(const Array& x, Array& out);

// (x − mean) · scale with scale = 1/√(variance + epsilon); if not centred, x · scale, with the mean
// of x² as the variance. `scale` has one element per row.
void standardize_rows(const Array& x, bool is_centred, double epsilon, Array& out, Array& scale);

}  // namespace plait
