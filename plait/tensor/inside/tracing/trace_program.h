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
#include <vector>

#include "plait/ir/builder.h"
#include "plait/ir/program.h"
#include "plait/ir/rewriting/outline.h"

namespace plait {

class TraceProgram {
 public:
  ir::ProgramBuilder& builder() { return builder_; }
  const ir::Declarations& declarations() const { return builder_.declarations(); }
  // Declares a function, so that it can be called before it is finished.
  void declare(std::string_view function, const ir::Signature& signature);
  void declare(ir::RecordType record) { builder_.record(std::move(record)); }
  void declare_records(std::span<const ir::RecordType> records);

  // While a function is being recorded, its name is not free.
  void begin(const std::string& name) { recorded_.push_back(name); }
  void end(const std::string& name);
  // A similar name that is free.
  std::string free_name(std::string_view wanted) const;

  // Adds a function of another program, with everything that it calls, and returns its name here.
  // `closing` turns stand-in instructions into calls of functions of this program.
  using Closing = std::function<std::optional<ir::Callee>(const ir::Instruction& instruction)>;
  std::string include(const ir::Program& program, const ir::Function& function,
                      const Closing& closing);
  // Replaces parts of a function by calls. Equal parts of all traces share one function.
  ir::Outlined outline(const ir::Function& function, std::span<const ir::Part> parts);
  // True if an instruction, or a function that it calls, may fail or has visible effects; also if a
  // function is not finished. Not for a guard, whose outcome is known.
  bool has_effects(const ir::Instruction& instruction);
  // A program with this entry and the functions of the traces. It is not verified: it may be part
  // of a function that is still being recorded.
  ir::Program with_entry(std::shared_ptr<const ir::Function> entry) const;

 private:
  bool is_pure(const std::string& function);

  ir::ProgramBuilder builder_;
  std::vector<std::string> recorded_;                                              // names
  std::unordered_map<std::shared_ptr<const ir::Function>, std::string> included_;  // and its name
  ir::OutlinedNames outlined_;
  std::unordered_map<std::string, bool> pure_;  // by name
};

}  // namespace plait
