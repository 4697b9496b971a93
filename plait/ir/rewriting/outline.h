// Outlining: replaces parts of a function by calls of new functions.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/ir/builder.h"

namespace plait::ir {

// The instructions in [begin, end).
struct Part {
  size_t begin = 0, end = 0;
  std::string name;  // name of the new function, made unique if it is taken
  Location location = {};
};

struct OutlineOptions {
  // Instructions without operands that stay in the function itself, before the call.
  std::function<bool(const Instruction& instruction)> stays = {};
  // Returns a similar name that is free.
  std::function<std::string(const std::string& wanted)> free_name = {};
};
// The names of the outlined functions, by their text.
using OutlinedNames = std::unordered_map<std::string, std::string>;

struct Outlined {
  static constexpr ValueId kWithin = UINT32_MAX;

  std::shared_ptr<const Function> function;
  std::vector<ValueId> values;  // the new number of each value; `kWithin` if it is inside a part
};

// The results of an outlined function are the values of the part that are used after it. Equal
// parts share one function. Parts are disjoint or nested; of two equal ranges the later one is the
// outer one. The new functions are added to the program and to the names. A part is not outlined if
// it contains a stand-in for a call of an unfinished function, or if it uses a size that no
// earlier value has as a dimension.
Outlined outline(const Function& function, std::span<const Part> parts, ProgramBuilder& program,
                 OutlinedNames& names, const OutlineOptions& options);

}  // namespace plait::ir
