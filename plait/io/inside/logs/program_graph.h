// Programs as the graphs that TensorBoard shows.
#pragma once

#include <string>

#include "plait/ir/program.h"

namespace plait {

// A GraphDef. The nodes are the parameters, the instructions and the results of the entry; those of
// the functions that it calls are in a scope named after each function. Nodes have the attributes
// `type`, `attributes` and `calls` of their instructions, and the sizes of their results.
std::string program_graph(const ir::Program& program);

}  // namespace plait
