// The rules that every program keeps, as a table: an executable specification. What builds a
// program refuses most mistakes where they are made; this finds those of passes, and of programs
// that came as data.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/location.h"
#include "plait/ir/program.h"

namespace plait::ir {

struct Violation {
  std::string_view rule;
  std::string function = {};     // "" when it is the program's
  std::string instruction = {};  // as text; "" when it is the function's
  std::string message = {};
  Location location = {};
  std::optional<uint32_t> index = {};  // of the instruction in its function
  std::string place = {};              // in the text that the program came as: "line 3, column 5"

  // "rule `scope`: @f: %y = add %x, %x : f32[m]: size m is not known here", after the place
  std::string text() const;
};

// A rule's name, and what it demands in one sentence.
struct RuleStatement {
  std::string_view name;
  std::string_view statement;
};
std::vector<RuleStatement> verifier_rules();

// What breaks a rule, in the order of the rules. The form of a function is checked first; where it
// is broken, rules that build upon it have nothing to say.
std::vector<Violation> violations(const Program& program);
// The same for what is to become a program, when its names may clash and its callees be missing.
std::vector<Violation> violations(std::span<const std::shared_ptr<const Function>> functions,
                                  std::span<const RecordType> records);

// TypeError where something that varies along an axis decides whether a collective along that axis
// runs: at some places it would, and wait for the others.
void refuse_lonely_collectives(const Program& program);

// CompileError with the violations, of which there is one at least; `pass` is what made the
// program.
[[noreturn]] void refuse(std::span<const Violation> violations, std::string_view pass = "");
// The same where a program has violations.
void verify(const Program& program, std::string_view pass = "");
// The same if the setting `verify` is on: what each pass does with what it made.
void verify_pass(const Program& program, std::string_view pass);

}  // namespace plait::ir
