// A program as a Graphviz graph.
#pragma once

#include <string>

#include "plait/ir/program.h"

namespace plait::ir {

// A cluster of instructions for each function; an edge for each use of a value, with its type; a
// dashed edge from an instruction to each of its callees.
std::string dot(const Program& program);

}  // namespace plait::ir
