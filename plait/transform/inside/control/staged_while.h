// `while` in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/control/control.h"
#include "plait/transform/inside/control/staged.h"

namespace plait::control {

// A loop whose functions were recorded: of constants, then of what is carried.
struct StagedLoop {
  StagedFunction test, body;
  size_t constants = 0;
  std::vector<Dim> sizes = {};  // in the types of what is carried: those that change

  const std::vector<ir::Type>& types() const { return body.function->signature().parameters; }
  size_t carries() const { return types().size() - constants; }
};

// Records the instruction into the trace that is open, with test and body as its callees, and
// follows it.
Tensors stage_while(const StagedLoop& loop, std::span<const Tensor> operands);

// Not followed, and with further functions in the place of its own: of what these take, and of more
// that is carried behind it.
Tensors record_while(const StagedLoop& loop, std::span<const Tensor> operands);
Tensors record_while(const StagedLoop& loop, const TensorFunction& test, const TensorFunction& body,
                     std::span<const Tensor> operands);

// The loop that carries tangents too, behind what the loop carries that is inexact; and what it
// begins with.
struct MovingLoop {
  StagedLoop loop;
  Tensors operands;
};
MovingLoop with_tangents(const StagedLoop& loop, std::span<const Tensor> operands,
                         std::span<const Tensor> tangents);

}  // namespace plait::control
