// Prints programs, functions and instructions as text.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "plait/ir/program.h"

namespace plait::ir {

struct PrintOptions {
  bool locations = true;
  // Literals of more elements are abbreviated; such a text cannot be parsed.
  int64_t literal_elements = std::numeric_limits<int64_t>::max();
};

std::string print(const Program& program, const PrintOptions& options = {});
std::string print(const Function& function, const PrintOptions& options = {});
// On one line, for messages.
std::string print(const Instruction& instruction,
                  const PrintOptions& options = {.locations = false, .literal_elements = 8});

// The name of a value in the text of its function: "%label", "%3" or "%p0".
std::string value_name(const Function& function, ValueId value);
// A parameter without a label is printed as %p0, %p1, …, with underscores appended if that is taken
// as a label; a name of this form at its position is therefore not a label.
bool is_unlabelled_name(std::string_view written, size_t parameter);

}  // namespace plait::ir
