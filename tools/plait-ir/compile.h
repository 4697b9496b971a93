// Compiles programs from the command line.
#pragma once

#include <string>
#include <vector>

#include "plait/ir/program.h"

#include "run.h"

// Lists the passes in order, one a line.
std::string passes_text();
// Names of the passes after which something can be printed, and "all".
std::vector<std::string> names_to_print_after();

// Returns what is wrong with a list of passes to leave out, such as -fuse,-plan; "" if it is valid.
std::string problem_with_passes(const std::string& list);
// Disables the passes from now on; "" leaves the setting unchanged.
void leave_out(const std::string& passes);

// Returns the plan; or the program after the pass `after`, or after each pass for "all". Returns ""
// if that pass is disabled.
std::string compiled_text(const plait::ir::Program& program, const std::string& after);

struct ComparisonOptions {
  double tolerance = 1e-5;
  int64_t shift = 0;
};
// Compares the compiled program with the evaluator. CheckError that describes the first difference.
std::string compare(const plait::ir::Program& program, const RunOptions& run,
                    const ComparisonOptions& options);
