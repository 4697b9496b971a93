// Evaluates programs from the command line.
#pragma once

#include <string>
#include <vector>

#include "plait/ir/program.h"

struct RunOptions {
  std::string function;                // "" is the first
  std::vector<std::string> arguments;  // as text, one a parameter
  std::vector<std::string> sizes;      // "n=3"
};

// The sizes given back, and the results, as text. What the program prints goes to standard output
// while it runs.
std::string run(const plait::ir::Program& program, const RunOptions& options);
