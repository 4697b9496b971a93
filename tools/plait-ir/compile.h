// What the compiler makes of programs from the command line.
#pragma once

#include <string>
#include <vector>

#include "plait/ir/program.h"

#include "run.h"

// The passes in their order, a line each.
std::string passes_text();
// The names of those behind which there is something to print, and "all".
std::vector<std::string> names_to_print_after();

// What is wrong with a list of passes to leave out, such as -fuse,-plan; "" where nothing is.
std::string problem_with_passes(const std::string& list);
// Leaves them out from now on; "" leaves the setting as it is.
void leave_out(const std::string& passes);

// The plan; or what there is behind the pass that `after` names, or behind each where it is "all".
// "" where that pass is left out.
std::string compiled_text(const plait::ir::Program& program, const std::string& after);

struct ComparisonOptions {
  double tolerance = 1e-5;
  int64_t shift = 0;
};
// Compares the compiled program with the evaluated one. CheckError that says what differs first.
std::string compare(const plait::ir::Program& program, const RunOptions& run,
                    const ComparisonOptions& options);
