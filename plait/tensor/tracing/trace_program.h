// The program into which nested traces record: functions of other programs, each included once, and
// those of the traces.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plait/core/function_ref.h"
#include "plait/ir/builder.h"
#include "plait/ir/program.h"
#include "plait/ir/rewriting/outline.h"

namespace plait {

class TraceProgram {
 public:
  ir::ProgramBuilder& builder() { return builder_; }
  const ir::Declarations& declarations() const { return builder_.declarations(); }
  void declare_records(std::span<const ir::RecordType> records);

  // Returns a similar name that is free.
  using FreeName = FunctionRef<std::string(std::string_view wanted)>;
  // Adds a function of another program, with everything that it calls, and returns its name here.
  // `closing` turns stand-in instructions into calls of functions of this program.
  using Closing = std::function<std::optional<ir::Callee>(const ir::Instruction& instruction)>;
  std::string include(const ir::Program& program, const ir::Function& function,
                      const Closing& closing, FreeName free_name);
  // Replaces parts of a function by calls. Equal parts of all traces share one function.
  ir::Outlined outline(const ir::Function& function, std::span<const ir::Part> parts,
                       FreeName free_name);
  // False if a function, or one that it calls, may fail or has visible effects; also for one that
  // is not finished.
  bool is_pure(const std::string& function);
  // A program with this entry and the functions of the traces.
  ir::Program with_entry(std::shared_ptr<const ir::Function> entry) const;

 private:
  ir::ProgramBuilder builder_;
  std::unordered_map<std::shared_ptr<const ir::Function>, std::string> included_;  // and its name
  ir::OutlinedNames outlined_;
  std::unordered_map<std::string, bool> pure_;  // by name
};

}  // namespace plait
