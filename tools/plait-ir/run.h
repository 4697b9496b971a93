// Runs programs from the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plait/core/sizes/dim.h"
#include "plait/ir/program.h"
#include "plait/ir/value.h"
#include "plait/tensor/memory/array.h"

struct RunOptions {
  std::string function;                // "" is the first
  std::vector<std::string> arguments;  // as text, one a parameter
  std::vector<std::string> sizes;      // "n=3"
  bool compiled = false;               // else evaluated, instruction by instruction
};

// What is to run: a program that begins with the chosen function.
struct Run {
  plait::ir::Program program;
  std::vector<plait::ir::Value> arguments;
  plait::SymbolMap<int64_t> sizes;
};
Run read_run(const plait::ir::Program& program, const RunOptions& options);

// The sizes given back, and the results, as text. What the program prints goes to standard output
// while it runs.
std::string run(const plait::ir::Program& program, const RunOptions& options);
// The same as arrays: sizes by their names, results as "0", "1", …, and of a result that has fields
// "0.0", "0.1", …; what is absent is left out.
std::map<std::string, plait::Array> run_to_arrays(const plait::ir::Program& program,
                                                  const RunOptions& options);
