// Running results along an axis, on the CPU.
#pragma once

#include <cstdint>

#include "plait/tensor/memory/array.h"

namespace plait {

enum class Scan : uint8_t { sum, product, maximum, minimum, logsumexp };

// out[k] = the result of x[0] to x[k] along the axis, or by `reverse` of x[k] to the last. `out`
// has the dtype and sizes of x, is contiguous and writable, and may be x. Sums, products and
// logarithms of floats are kept in f64, sums and products of narrow ones in f32, and rounded where
// they are written. The same on every run, whatever the number of threads. TypeError for a dtype
// that has no such results.
void scan(Scan kind, const Array& x, int64_t axis, bool reverse, Array& out);

// h[k] = a[k]·h[k−1] + b[k], with 0 before the first; all alike, and inexact.
void linear_recurrence(const Array& a, const Array& b, int64_t axis, bool reverse, Array& out);

}  // namespace plait
