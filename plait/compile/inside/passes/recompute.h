// Decides which values of the forward pass the backward pass keeps, and which it computes again in
// its kernels: keeping costs their bytes, computing them again costs arithmetic.
#pragma once

#include <cstdint>
#include <memory>

#include "plait/compile/inside/targets/target.h"
#include "plait/ir/analysis/effect_analysis.h"

namespace plait::compile {

struct Recomputed {
  std::shared_ptr<const ir::Function> function;  // null if nothing is computed again
  // The backward pass begins with this instruction. A kernel with instructions of both passes would
  // keep what it computes for the backward pass.
  uint32_t turn = 0;
};

Recomputed recomputed(const ir::EffectAnalysis& effects, size_t function, const Target& target);

}  // namespace plait::compile
