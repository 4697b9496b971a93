// Functions recorded as two: a forward part, and a backward part that receives what the forward
// part stores.
#pragma once

#include <span>
#include <vector>

#include "plait/transform/inside/forms/staged.h"

namespace plait {

struct Taped {
  std::vector<Tensor> results;
  // Maps the cotangents of the inexact results to those of the wanted arguments. Its captures are
  // the residuals.
  StagedFunction backward;
};
// Runs the function in the open trace, to which the arguments belong.
Taped record_taped(const TensorFunction& function, std::span<const Tensor> arguments,
                   const std::vector<bool>& wanted);

// Returns a cotangent for each inexact result of the function: the given one, or zeros.
std::vector<Tensor> all_cotangents(const ir::Function& function, std::span<const Tensor> operands,
                                   std::span<const Tensor> given);

// The sizes of a cotangent may be unknown to the backward function; then a value that shows the
// size is captured in the open trace.
void capture_sizes(std::span<const Tensor> wanted, std::span<const Tensor> arguments);

// Returns the symbolic sizes in the types that are not in `known`.
std::vector<Dim> sizes_besides(std::span<const ir::Type> types, std::span<const Dim> known);

bool is_followed_in_reverse(std::span<const Tensor> tensors);

}  // namespace plait
