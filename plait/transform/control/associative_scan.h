// Running totals of an operation that may be bracketed in any way, in as many steps as there are
// doublings.
//
//   associative_scan([](Tensor a, Tensor b) { return a * b; }, x);              // cumprod(x)
//   associative_scan([](Pair a, Pair b) { return compose(a, b); }, pairs, {.axis = 1});
//
// The function is given many pairs at once, along the axis that is scanned.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/transform/control/control.h"

namespace plait {

struct AssociativeScanOptions {
  int64_t axis = 0;
  bool reverse = false;  // totals from each to the last
};

namespace control {

// Leaves of the one, then of the other, give leaves.
Tensors associative_scan(const TensorFunction& function, std::span<const Tensor> elements,
                         const AssociativeScanOptions& options);

}  // namespace control

// A tree of tensors of one length along the axis, each with the totals up to there.
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
