// Outlines parts of a program's entry.
#pragma once

#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/rewriting/outline.h"

namespace plait::ir {

inline Program outlined(const Program& program, std::span<const Part> parts) {
  ProgramBuilder functions;
  for (const RecordType& record : program.records()) functions.record(record);
  for (const auto& function : program.functions()) {
    functions.declare(function->name(), function->signature());
  }
  OutlinedNames names;
  const auto free_name = [&](const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; functions.declarations().find_function(name); ++i) {
      name = fmt::format("{}.{}", wanted, i);
    }
    return name;
  };
  const Outlined made = outline(program.entry(), parts, functions, names, {.free_name = free_name});
  ProgramBuilder whole;
  whole.add(made.function);
  whole.add_all(functions);
  for (const auto& function : program.functions()) {
    if (function.get() != &program.entry()) whole.add(function);
  }
  return whole.finish();
}

}  // namespace plait::ir
