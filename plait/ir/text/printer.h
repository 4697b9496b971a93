// Programs, functions and instructions as text.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "plait/ir/program.h"

namespace plait::ir {

struct PrintOptions {
  bool locations = true;
  // A literal of more elements is abbreviated; such a text does not parse back.
  int64_t literal_elements = std::numeric_limits<int64_t>::max();
};

std::string print(const Program& program, const PrintOptions& options = {});
std::string print(const Function& function, const PrintOptions& options = {});
// On one line, as messages quote it.
std::string print(const Instruction& instruction,
                  const PrintOptions& options = {.locations = false, .literal_elements = 8});

// "%label", "%3" or "%p0": what a value is called in the text of its function.
std::string value_name(const Function& function, ValueId value);

}  // namespace plait::ir
