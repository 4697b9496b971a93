// Selects the instructions that become one kernel: groups that grow from producer to consumer, and
// across operands that two groups read, as long as one loop nest computes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/inside/targets/target.h"
#include "plait/ir/analysis/effect_analysis.h"

namespace plait::compile {

struct Cluster {
  std::vector<uint32_t> members;     // ascending
  std::vector<uint32_t> recomputed;  // members of an earlier cluster, computed here again
  std::vector<ir::ValueId> results;  // those of members that are used outside
};

// True if kernels of the target can contain the instruction: a reduction, or one that it computes
// for each element.
bool is_computed_by(const Target& target, const Roles& roles, const ir::Instruction& instruction);

// Returns the clusters of at least two instructions, all of which the target computes; in a loop
// also those of a single one on few elements, which then costs less than a call of its own kernel.
// None has instructions on both sides of the turn (kernel_passes.h).
std::vector<Cluster> clusters_of(const ir::EffectAnalysis& effects, size_t function,
                                 const Target& target, uint32_t turn, bool is_in_loop);

}  // namespace plait::compile
