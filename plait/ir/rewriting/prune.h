// Removes what has no consequence: instructions whose results nobody uses and that do nothing else,
// and functions that the program's first one does not reach. Linear.
#pragma once

#include <memory>

#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/program.h"

namespace plait::ir {

// One function of the program that was analysed, as it was given when nothing can go.
std::shared_ptr<const Function> prune(const EffectAnalysis& effects, size_t function);
Program prune(const Program& program);

}  // namespace plait::ir
