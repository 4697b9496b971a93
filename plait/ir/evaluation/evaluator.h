// Evaluates programs: the meaning of the IR's own instructions (docs/ir.md), over the values of any
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/evaluation/machine.h"
#include "plait/ir/program.h"

namespace plait::ir {

// A guard or a size_guard whose condition came out otherwise than when the program was traced.
struct FailedGuard {
  Instruction instruction;
  const SymbolMap<int64_t>& sizes;  // of the function that it is in
  size_t number;                    // how many guards came before, in this evaluation
  std::string message;
};
enum class GuardAnswer : uint8_t { fail, go_on };

bool checks_types_by_default();  // in debug builds of this library

struct EvaluatorOptions {
  size_t max_depth = 4'000'000;  // functions that are being evaluated at a time
  // Compare what the machine gives with each instruction's types.
  bool check_types = checks_types_by_default();
  SymbolMap<int64_t> sizes = {};  // of the first function, where its arguments do not show them
  // Asked about each guard that fails; a CheckError follows when it answers `fail`, or when there
  // is none.
  std::function<GuardAnswer(const FailedGuard&)> on_guard = {};
};

// A program that is evaluated often, and what can be found out about it once.
class PreparedProgram {
 public:
  explicit PreparedProgram(Program program);

  const Program& program() const;
  // Whether an argument is looked at; one that is not may be an empty value.
  bool reads(size_t parameter) const;

 private:
  friend class Evaluation;
  struct State;
  std::shared_ptr<const State> state_;
};

struct Evaluated {
  std::vector<Value> results;
  std::vector<int64_t> sizes;  // those that the function gives back
};

// The program must be verified; one that is not gives errors, but less clear ones. Recursion is as
// deep as max_depth and memory allow: calls use no stack. An error says where in the program it
// came up, in which function, and who called that.
std::vector<Value> evaluate(const Program& program, Machine& machine,
                            std::span<const Value> arguments, const EvaluatorOptions& options = {});
// With arguments that are given away: those that nobody else has may be overwritten.
std::vector<Value> evaluate_given(const Program& program, Machine& machine,
                                  std::vector<Value> arguments,
                                  const EvaluatorOptions& options = {});
// The same of arguments that are known to be of the types of the program's parameters.
std::vector<Value> evaluate_given(const PreparedProgram& prepared, Machine& machine,
                                  std::vector<Value> arguments,
                                  const EvaluatorOptions& options = {});
Evaluated evaluate_function(const Program& program, std::string_view function, Machine& machine,
                            std::span<const Value> arguments, const EvaluatorOptions& options = {});

}  // namespace plait::ir
