// Functions that are linear in some of their parameters, run from their results to their
// parameters.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/ir/function.h"
#include "plait/tensor/trace.h"
#include "plait/transform/derivative.h"

namespace plait {

// The cotangents of the parameters in which `function` is linear: those that have no value here.
// What depends on the others alone is computed. ValueError that names the instruction where it is
// not linear.
std::vector<Tensor> transpose_function(const ir::Function& function, std::span<const Tensor> values,
                                       std::span<const Tensor> cotangents);

// The cotangents of the wanted operands of a primitive whose rule says its tangents: the rule is
// recorded, and what it recorded transposed.
std::vector<Tensor> transpose_tangents(const Application& applied,
                                       std::span<const Tensor> cotangents,
                                       const std::vector<bool>& wanted);

// A linear map that was recorded with the tensors that it uses, to be run from its results to its
// arguments.
class LinearMap {
 public:
  // What `map` makes of tensors of these types; those that have no derivative are empty, on both
  // sides.
  static LinearMap of(std::span<const OperandType> arguments,
                      const std::function<std::vector<Tensor>(std::span<const Tensor>)>& map);

  // Of what it uses, only what levels further out than this one see.
  LinearMap below(uint64_t level) const;
  // What it sends to its arguments, from cotangents of its results.
  std::vector<Tensor> transpose(std::span<const Tensor> cotangents) const;

 private:
  RecordedFunction recorded_;
  std::vector<bool> has_argument_, has_result_;
};

}  // namespace plait
