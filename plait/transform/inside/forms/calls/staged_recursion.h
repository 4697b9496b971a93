// Calls of recursive functions in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/inside/forms/calls/recursive_function.h"

namespace plait {

// Records a call of the function into the open trace, and follows it.
std::vector<Tensor> run_recursive(const RecursiveFunction& function,
                                  std::span<const Tensor> operands);
// The same for a function that draws random numbers: they are derived from `key`, so that a
// derivative that recomputes them gets the same numbers.
std::vector<Tensor> run_recursive_with_key(const RecursiveFunction& function,
                                           std::span<const Tensor> operands, const Tensor& key);

// Records a call without following it. Where tapes are kept, a reverse derivative goes by its tape.
std::vector<Tensor> record_recursive(const RecursiveFunction& function,
                                     std::span<const Tensor> operands);
// Runs the function that is made of this one. If it is being recorded, the call refers to it.
std::vector<Tensor> call_derived(const RecursiveFunction& of, const Derived& derived,
                                 std::span<const Tensor> operands);

}  // namespace plait
