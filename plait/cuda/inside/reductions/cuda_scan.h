// Cumulative reductions along an axis on the device, in a fixed order.
#pragma once

#include "plait/core/numbers/dtype.h"
#include "plait/tensor/kernels.h"

namespace plait::cuda {

enum class ScanKind : uint8_t { sum, product, maximum, minimum, logsumexp, recurrence };

// Registers cumulative_sum, cumulative_product, cumulative_maximum, cumulative_minimum,
// cumulative_logsumexp and linear_recurrence.
//
// Floats are accumulated in f64, narrow ones in f32, as on the CPU. Products of floats and
// recurrences are computed one element after another, since 0 · ∞ could occur between runs where it
// does not in sequence; all others in pieces that are joined.
void register_scan_kernels();

}  // namespace plait::cuda
