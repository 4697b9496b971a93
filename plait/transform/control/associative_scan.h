// Inclusive prefix scan of an associative operation, in O(log n) parallel steps.
//
//   associative_scan([](Tensor a, Tensor b) { return a * b; }, x);              // cumprod(x)
//   associative_scan([](Pair a, Pair b) { return compose(a, b); }, pairs, {.axis = 1});
//
// The function receives many pairs together, stacked along the scanned axis.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/transform/control/control.h"

namespace plait {

struct AssociativeScanOptions {
  int64_t axis = 0;
  bool reverse =
      false;  // from the last element: f(…f(f(x[n-1], x[n-2]), x[n-3])…, x[i]), as in JAX
};

namespace control {

// The function maps the leaves of the left element, followed by those of the right one, to leaves.
Tensors associative_scan(const TensorFunction& function, std::span<const Tensor> elements,
                         const AssociativeScanOptions& options);

}  // namespace control

// Scans a tree of tensors that have the same length along the axis. Element i of the result
// combines the elements 0 to i.
template <class F, class Elements>
Elements associative_scan(const F& f, const Elements& elements,
                          const AssociativeScanOptions& options = {}) {
  const size_t count = leaf_count(elements);
  const auto on_leaves = [&](std::span<const Tensor> given) {
    return tensors_of(static_cast<Elements>(f(with_tensors(elements, given.first(count)),
                                              with_tensors(elements, given.subspan(count)))));
  };
  return with_tensors(elements,
                      control::associative_scan(on_leaves, tensors_of(elements), options));
}

}  // namespace plait
