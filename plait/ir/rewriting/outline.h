// Parts of a function made functions of their own, which it calls where they stood.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/ir/builder.h"

namespace plait::ir {

// The instructions from `begin` to before `end`.
struct Part {
  size_t begin = 0, end = 0;
  std::string name;  // of the function that it becomes, or one like it
  Location location = {};
};

struct OutlineOptions {
  // Instructions without operands that stay in the function itself, ahead of the call.
  std::function<bool(const Instruction& instruction)> stays = {};
  // A name like this one for a function.
  std::function<std::string(const std::string& wanted)> free_name = {};
};
// What functions were made are called, by their text.
using OutlinedNames = std::unordered_map<std::string, std::string>;

struct Outlined {
  static constexpr ValueId kWithin = UINT32_MAX;

  std::shared_ptr<const Function> function;
  std::vector<ValueId> values;  // what became of each value; `kWithin` where it is in a part
};

// What is used of a part behind it is what its function gives; of parts that come out alike one
// function is made. Parts lie one behind the other or within each other; of two that are the same
// the later one is the outer one. What they become is added to the program, and to the names. A
// part stays as it is where it stands for calls of unfinished functions, or takes a size that no
// value shows.
Outlined outline(const Function& function, std::span<const Part> parts, ProgramBuilder& program,
                 OutlinedNames& names, const OutlineOptions& options);

}  // namespace plait::ir
