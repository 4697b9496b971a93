// `while` in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/control/control.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait::control {

// A loop with recorded test and body, functions of constants followed by carries.
struct StagedLoop {
  StagedFunction test, body;
  size_t constants = 0;
  std::vector<Dim> sizes = {};  // in the types of the carries: those that change

  const std::vector<ir::Type>& types() const { return body.function->signature().parameters; }
  size_t carries() const { return types().size() - constants; }
};

// Records the instruction into the open trace, with test and body as its callees, and follows it.
Tensors stage_while(const StagedLoop& loop, std::span<const Tensor> operands);

// Record the loop without following it. The second form has other functions, which take further
// carries at the end.
Tensors record_while(const StagedLoop& loop, std::span<const Tensor> operands);
Tensors record_while(const StagedLoop& loop, const TensorFunction& test, const TensorFunction& body,
                     std::span<const Tensor> operands);

// The loop with the tangents of its inexact carries as further carries, and its operands.
struct LoopWithTangents {
  StagedLoop loop;
  Tensors operands;
};
LoopWithTangents with_tangents(const StagedLoop& loop, std::span<const Tensor> operands,
                               std::span<const Tensor> tangents);

}  // namespace plait::control
