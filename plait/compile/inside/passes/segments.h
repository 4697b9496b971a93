// Computes parts of a forward pass again in the backward pass, as if the user had called `remat`
// around them: of a segment only what it reads is kept. The rest is computed again, products too,
// when the backward pass first needs some of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plait/ir/analysis/effect_analysis.h"

namespace plait::compile {

// The forward pass in `count` segments that keep about the same bytes, of which the first `again`
// are computed again.
struct Segments {
  uint32_t count = 1, again = 0;
};

// Where segments of a forward pass end, ascending; the last one ends at the turn.
using SegmentEnds = std::vector<uint32_t>;
SegmentEnds segment_ends(const ir::EffectAnalysis& effects, size_t function, uint32_t turn,
                         uint32_t count);

// By instruction before the turn: true if it is still needed where later ones read these values, or
// its effects are.
std::vector<bool> needed_before(const ir::EffectAnalysis& effects, size_t function, uint32_t turn,
                                std::vector<bool> is_read);

struct TurnedFunction {
  std::shared_ptr<const ir::Function> function;  // null if nothing is computed again
  uint32_t turn = 0;                             // the first instruction of its backward pass
  SegmentEnds ends = {};
};

// Has the first `again` segments computed again.
TurnedFunction with_segments(const ir::EffectAnalysis& effects, size_t function, uint32_t turn,
                             const SegmentEnds& ends, uint32_t again);

}  // namespace plait::compile
