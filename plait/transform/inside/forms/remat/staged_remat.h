// `remat` in traces.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait {

// The values that the policy stores.
Sketch::Keeps keeps_of(const RematPolicy& policy);

// Records the instruction into the open trace, with the function as its callee, and follows it.
std::vector<Tensor> run_staged_remat(StagedFunction function, std::span<const Tensor> operands,
                                     const RematPolicy& policy);

}  // namespace plait
