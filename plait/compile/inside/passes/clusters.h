// Which instructions of a function become one kernel: groups that grow from producer to consumer,
// and over operands that are read by both, as long as one loop nest computes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/region.h"
#include "plait/ir/analysis/effect_analysis.h"

namespace plait::compile {

struct Cluster {
  std::vector<uint32_t> members;     // ascending
  std::vector<ir::ValueId> results;  // that others need
};

// What instructions wait for besides their operands: effects for those before them, and what
// mentions a size for its birth. One list an instruction.
std::vector<std::vector<uint32_t>> orders_of(const ir::EffectAnalysis& effects, size_t function);

// Those of two instructions and more.
std::vector<Cluster> clusters_of(const ir::EffectAnalysis& effects, size_t function);

}  // namespace plait::compile
