// Elements chosen along an axis by their places, on the CPU. Indices are i64, and count from 0.
#pragma once

#include <cstdint>

#include "plait/tensor/array.h"

namespace plait {

// out[…, k, …] = x[…, indices[…, k, …], …]. IndexError for a place that is not there; `out`, which
// lies in a row, then holds anything.
void pick_along(const Array& x, const Array& indices, int64_t axis, Array& out);

// out[…, indices[…, k, …], …] += values[…, k, …], in the order of k: the same on every run.
void add_along(const Array& values, const Array& indices, int64_t axis, Array& out);

}  // namespace plait
