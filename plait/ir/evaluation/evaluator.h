// The interpreter of programs: it implements the IR's structural instructions (docs/ir.md) over the
// values of any machine.
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

// A guard or a size_guard whose condition differs from the recorded one.
struct FailedGuard {
  Instruction instruction;
  const SymbolMap<int64_t>& sizes;  // sizes of its function
  size_t number;                    // number of guards before it in this evaluation
  std::string message;
};
enum class GuardAnswer : uint8_t { fail, go_on };

bool checks_types_by_default();  // true in debug builds of this library

struct EvaluatorOptions {
  size_t max_depth = 4'000'000;  // maximum depth of calls
  // Checks the results of the machine against each instruction's types.
  bool check_types = checks_types_by_default();
  SymbolMap<int64_t> sizes =
      {};  // sizes of the first function, if the arguments do not determine them
  // Called for each guard that fails; a CheckError is thrown if it returns `fail`, or if it is
  // empty.
  std::function<GuardAnswer(const FailedGuard&)> on_guard = {};
};

// A program that is evaluated often, with cached analyses.
class PreparedProgram {
 public:
  explicit PreparedProgram(Program program);

  const Program& program() const;
  // False if the argument is never read; then it may be an empty value.
  bool reads(size_t parameter) const;

 private:
  friend class Evaluation;
  struct State;
  std::shared_ptr<const State> state_;
};

struct Evaluated {
  std::vector<Value> results;
  std::vector<int64_t> sizes;  // sizes that the function returns
};

// The program must be verified; otherwise errors are less clear. Recursion is limited only by
// max_depth and memory: calls do not use the stack. An error names the place in the program, its
// function, and the callers.
std::vector<Value> evaluate(const Program& program, Machine& machine,
                            std::span<const Value> arguments, const EvaluatorOptions& options = {});
// The same; the arguments are donated: those without other owners may be overwritten.
std::vector<Value> evaluate_donated(const Program& program, Machine& machine,
                                    std::vector<Value> arguments,
                                    const EvaluatorOptions& options = {});
// The same; the arguments must have the types of the program's parameters.
std::vector<Value> evaluate_donated(const PreparedProgram& prepared, Machine& machine,
                                    std::vector<Value> arguments,
                                    const EvaluatorOptions& options = {});
Evaluated evaluate_function(const Program& program, std::string_view function, Machine& machine,
                            std::span<const Value> arguments, const EvaluatorOptions& options = {});

}  // namespace plait::ir
