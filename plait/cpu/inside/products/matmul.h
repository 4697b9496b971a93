// Matrix products on the CPU.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// out[b…, i, j] = Σ_k a[b…, i, k] · b[b…, k, j] for any layouts; batch dimensions are broadcast.
// All three have one dtype: f64, f32, bf16, f16 (the last two accumulated in f32 and rounded once),
// an integer (wrapping), bool (any of the conjunctions) or complex. With k = 0 the sums are 0.
// `out` is writable, has the sizes of the result, and does not overlap the others. For a given
// planned_thread_count() the results are the same on every run.
void matmul(const Array& a, const Array& b, Array& out);

}  // namespace plait
