// Compares a compiled program with the evaluator. First, the program after each pass with the
// program before it. Then, step by step, the results of each kernel with those of its function on
// the same operands, and the operands of each step with their earlier values, in case something has
// overwritten them. At last, the results. Printed output appears once.
//
//   if (const auto difference = compare(program, arguments)) std::cout << difference->text();
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/compile/arena_options.h"
#include "plait/compile/compiler.h"

namespace plait::compile {

struct Difference {
  std::string what;
  // Set if a step differs, but not for a pass or the results alone.
  std::string step = {};      // as in the plan's text
  std::string function = {};  // that contains the step
  size_t number = 0;          // in order of execution
  Location location = {};

  std::string text() const;
};

struct CompareOptions {
  // Tolerance relative to the largest number of a result, since sums are reordered. A larger
  // difference is accepted if operands perturbed by a few ulps change the result as much. With 0,
  // results must be bitwise equal.
  double tolerance = 1e-5;
  ArenaOptions arena = {.is_guarded = true};
  SymbolMap<int64_t> sizes = {};  // sizes of the program, if its arguments do not show them
};

// Returns the first difference.
std::optional<Difference> compare(const ir::Program& program, std::span<const Tensor> arguments,
                                  const CompareOptions& options = {});
std::optional<Difference> compare(const ir::Program& program,
                                  const std::vector<ir::Value>& arguments,
                                  const CompareOptions& options = {});

}  // namespace plait::compile
