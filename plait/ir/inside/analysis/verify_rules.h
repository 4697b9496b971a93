// The input and output of the verifier's rules. The rules themselves are in verify_*.cpp, one file
// for each subject.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "plait/ir/analysis/verify.h"
#include "plait/ir/inference.h"
#include "plait/ir/program.h"

namespace plait::ir {

struct Subject {
  std::span<const std::shared_ptr<const Function>> functions;
  std::span<const RecordType> records;
  Declarations declarations;  // all functions and records; of two with the same name, the first
};

class Findings {
 public:
  // For the program, a function, or an instruction.
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    add_to_program(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  template <class... Arguments>
  void add(const Function& function, fmt::format_string<Arguments...> format,
           Arguments&&... arguments) {
    add_to_function(function, fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  template <class... Arguments>
  void add(const Instruction& instruction, fmt::format_string<Arguments...> format,
           Arguments&&... arguments) {
    add_to_instruction(instruction, fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  void set_rule(std::string_view rule) { rule_ = rule; }
  size_t count() const { return found_.size(); }
  std::vector<Violation> take() { return std::move(found_); }

 private:
  void add_to_program(std::string message);
  void add_to_function(const Function& function, std::string message);
  void add_to_instruction(const Instruction& instruction, std::string message);

  std::string_view rule_;
  std::vector<Violation> found_;
};

using ProgramCheck = void (*)(const Subject& subject, Findings& findings);
using FunctionCheck = void (*)(const Subject& subject, const Function& function,
                               Findings& findings);

// verify_form.cpp
void check_names(const Subject& subject, Findings& findings);
void check_values(const Subject& subject, const Function& function, Findings& findings);
void check_operands(const Subject& subject, const Function& function, Findings& findings);
void check_counts(const Subject& subject, const Function& function, Findings& findings);
void check_attributes(const Subject& subject, const Function& function, Findings& findings);
void check_callees(const Subject& subject, const Function& function, Findings& findings);

// verify_sizes.cpp
void check_size_names(const Subject& subject, const Function& function, Findings& findings);
void check_scope(const Subject& subject, const Function& function, Findings& findings);
void check_facts(const Subject& subject, const Function& function, Findings& findings);

// verify_types.cpp
void check_records(const Subject& subject, Findings& findings);
void check_record_uses(const Subject& subject, const Function& function, Findings& findings);
void check_types(const Subject& subject, const Function& function, Findings& findings);
void check_returns(const Subject& subject, const Function& function, Findings& findings);

// verify_axes.cpp
void check_axes(const Subject& subject, const Function& function, Findings& findings);
void check_callee_axes(const Subject& subject, const Function& function, Findings& findings);
void check_collectives(const Subject& subject, Findings& findings);

}  // namespace plait::ir
