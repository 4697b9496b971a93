// Cumulative reductions along an axis, on the CPU.
#pragma once

#include <cstdint>

#include "plait/tensor/memory/array.h"

namespace plait {

enum class Scan : uint8_t { sum, product, maximum, minimum, logsumexp };

// out[k] = the reduction of x[0] to x[k] along the axis, or with `reverse` of x[k] to the last.
// `out` has the dtype and sizes of x, is contiguous and writable, and may be x. Sums, products and
// logarithms of floats are accumulated in f64, sums and products of narrow ones in f32, and rounded
// when stored. The result does not depend on the number of threads. Throws TypeError for an
// unsupported dtype.
void scan(Scan kind, const Array& x, int64_t axis, bool reverse, Array& out);

// h[k] = a[k]·h[k−1] + b[k], with h[−1] = 0. All arrays have the same sizes and inexact dtype.
void linear_recurrence(const Array& a, const Array& b, int64_t axis, bool reverse, Array& out);

}  // namespace plait
