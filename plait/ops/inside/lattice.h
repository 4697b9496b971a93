// Linear recurrences on a lattice [..., steps, states]: the value of a state depends on the values,
// one step before, of the same state and of the two states before it. They sum over all paths of an
// alignment. These are primitives; the public function is ctc_loss (loss.h).
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

struct LatticeAttributes {
  bool reverse = false;  // from the last step and state to the first
};

// Coefficients of the transitions from the same state, its neighbour and the second neighbour, and
// the inhomogeneous term. Four arrays of one shape and dtype, f32 or f64.
struct Lattice {
  Tensor from_itself, from_neighbour, from_second, begun;
};

// h[t, s] = begun[t, s] + Σ_k from_k[t, s] · h[t − 1, s − k].
Tensor lattice_recurrence(const Lattice& lattice, bool reverse = false);
// The same recurrence for logarithms: h[t, s] = log(e^begun[t, s] + Σ_k e^(from_k[t, s] + h[t − 1,
// s − k])).
Tensor lattice_logsumexp(const Lattice& lattice, bool reverse = false);

void register_lattice_ops();

}  // namespace plait
