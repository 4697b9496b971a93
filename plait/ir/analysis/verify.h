// The rules that every valid program satisfies, as a table: an executable specification. The
// builder reports most mistakes when they are made; the verifier finds those of passes, and of
// programs that were read from text or bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/location.h"
#include "plait/core/settings.h"
#include "plait/ir/program.h"

namespace plait {

enum class Verify : uint8_t { off, on };

namespace setting {
extern Setting<Verify> kVerify;
}

}  // namespace plait

namespace plait::ir {

struct Violation {
  std::string_view rule;
  std::string function = {};     // "" for a violation of the program
  std::string instruction = {};  // as text; "" for a violation of the function
  std::string message = {};
  Location location = {};
  std::optional<uint32_t> index = {};  // index of the instruction in its function
  std::string place = {};              // in the text of the program: "line 3, column 5"

  // "rule `scope`: @f: %y = add %x, %x : f32[m]: size m is not known here", after the place
  std::string text() const;
};

// The name of a rule, and its requirement in one sentence.
struct RuleStatement {
  std::string_view name;
  std::string_view statement;
};
std::vector<RuleStatement> verifier_rules();

// All violations, in the order of the rules. The form of a function is checked first; if it is
// invalid, the rules that depend on it are skipped.
std::vector<Violation> violations(const Program& program);
// The same for functions that are to become a program, whose names may clash and whose callees may
// be missing.
std::vector<Violation> violations(std::span<const std::shared_ptr<const Function>> functions,
                                  std::span<const RecordType> records);

// TypeError if a condition that varies along an axis decides whether a collective along that axis
// runs: some places would run it and wait for the others forever.
void refuse_divergent_collectives(const Program& program);

// Throws a CompileError with the violations (at least one); `pass` is the pass that produced the
// program.
[[noreturn]] void refuse(std::span<const Violation> violations, std::string_view pass = "");
// Throws it if the program has violations.
void verify(const Program& program, std::string_view pass = "");
// The same if the setting `verify` is on; called after each pass.
void verify_pass(const Program& program, std::string_view pass);

}  // namespace plait::ir
