// A program as a drawing: Graphviz text.
#pragma once

#include <string>

#include "plait/ir/program.h"

namespace plait::ir {

// A box of instructions for each function; an arrow for each use of a value, with its type; a
// dashed arrow from an instruction to each of its callees.
std::string dot(const Program& program);

}  // namespace plait::ir
