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
  std::string function;                // "" for the first
  std::vector<std::string> arguments;  // as text, one a parameter
  std::vector<std::string> sizes;      // "n=3"
  bool compiled = false;               // if false, evaluated instruction by instruction
};

// A program whose entry is the chosen function, with its arguments.
struct Run {
  plait::ir::Program program;
  std::vector<plait::ir::Value> arguments;
  plait::SymbolMap<int64_t> sizes;
};
Run read_run(const plait::ir::Program& program, const RunOptions& options);

// Returns result sizes and results as text. What the program prints goes to standard output.
std::string run(const plait::ir::Program& program, const RunOptions& options);
// Returns them as arrays: sizes by name, results as "0", "1", …; fields of a result as "0.0",
// "0.1", …; absent values are omitted.
std::map<std::string, plait::Array> run_to_arrays(const plait::ir::Program& program,
                                                  const RunOptions& options);
