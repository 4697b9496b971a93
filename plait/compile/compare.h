// Holds a compiled program against the evaluator: what the program behind each pass gives against
// what it gave before; then, step by step, what each kernel gives against what its function gives
// for the same operands, and what each step takes against what was given before, which somebody may
// have written over; at last the results. What the program prints is printed once.
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
  // Where it is a step that differs; no pass, and not the results alone.
  std::string step = {};      // as the plan's text has it
  std::string function = {};  // that the step is in
  size_t number = 0;          // in the order in which they ran
  Location location = {};

  std::string text() const;
};

struct CompareOptions {
  // Of the greatest number that a result has; sums are taken in another order. A result may be
  // further away where operands some units in the last place away take it as far. With 0, all is to
  // be the same to the last bit.
  double tolerance = 1e-5;
  ArenaOptions arena = {.is_guarded = true};
  SymbolMap<int64_t> sizes = {};  // of the program, where its arguments do not show them
};

// What differs first.
std::optional<Difference> compare(const ir::Program& program, std::span<const Tensor> arguments,
                                  const CompareOptions& options = {});
std::optional<Difference> compare(const ir::Program& program,
                                  const std::vector<ir::Value>& arguments,
                                  const CompareOptions& options = {});

}  // namespace plait::compile
