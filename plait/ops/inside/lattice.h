// Recurrences over a lattice [..., steps, states]: what a state holds follows from itself, its
// neighbour and the one before that, one step ago. All paths of an alignment are summed by them.
// Primitives; ctc_loss (loss.h) is for users.
#pragma once

#include "plait/tensor/tensor.h"

namespace plait {

struct LatticeAttributes {
  bool reverse = false;  // from the last step and state to the first
};

// What comes to a state from itself, its neighbour and the one before that, and what it begins with
// at a step: four arrays alike, of f32 or f64.
struct Lattice {
  Tensor from_itself, from_neighbour, from_second, begun;
};

// h[t, s] = begun[t, s] + Σ from_k[t, s] · h[t − 1, s − k]
Tensor lattice_recurrence(const Lattice& lattice, bool reverse = false);
// log of the same sums, of logarithms: h[t, s] = log(e^begun[t, s] + Σ e^(from_k[t, s] +
// h[t − 1, s − k])).
Tensor lattice_logsumexp(const Lattice& lattice, bool reverse = false);

void register_lattice_ops();

}  // namespace plait
