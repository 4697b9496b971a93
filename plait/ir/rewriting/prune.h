// Dead code elimination: removes unused instructions without effects, and functions that are not
// reachable from the entry. Linear time.
#pragma once

#include <memory>

#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/program.h"

namespace plait::ir {

// One function of the analysed program; the same object if nothing can be removed.
std::shared_ptr<const Function> prune(const EffectAnalysis& effects, size_t function);
Program prune(const Program& program);

}  // namespace plait::ir
