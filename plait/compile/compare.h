// Holds a compiled program against the evaluator, step by step: what each kernel gives against what
// its function gives for the same operands, and what each step takes against what was given before,
// which somebody may have written over.
//
//   if (const auto difference = compare(program, arguments)) std::cout << difference->text();
#pragma once

#include <optional>
#include <span>
#include <string>

#include "plait/compile/compiler.h"

namespace plait::compile {

struct Difference {
  size_t number = 0;     // of the step, in the order in which they ran
  std::string function;  // that the step is in
  std::string step;      // as the plan's text has it
  std::string what;
  Location location = {};

  std::string text() const;
};

struct CompareOptions {
  // Of the greatest number that a result has; sums are taken in another order.
  double tolerance = 1e-5;
  ArenaOptions arena = {.is_guarded = true};
};

// The first step that differs.
std::optional<Difference> compare(const ir::Program& program, std::span<const Tensor> arguments,
                                  const CompareOptions& options = {});

}  // namespace plait::compile
