// Matrix products on the CPU.
#pragma once

#include "plait/tensor/memory/array.h"

namespace plait {

// out[b…, i, j] = Σ_k a[b…, i, k] · b[b…, k, j] for any layouts; batch dimensions broadcast. All
// three have one dtype: f64, f32, bf16, f16 (the last two summed in f32 and rounded once), a whole
// number (wrapping), bool (whether any of the ands holds) or complex. With k = 0 the sums are 0.
// `out` is writable, has the sizes of the result, and does not overlap the others. For one
// thread_count() the results are the same on every run.
void matmul(const Array& a, const Array& b, Array& out);

}  // namespace plait
