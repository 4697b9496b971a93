// One evaluation of a program. Active calls are kept in a list, not on the machine stack. Internal
// to the evaluator: users call evaluate (evaluator.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/core/error.h"
#include "plait/ir/evaluation/evaluator.h"
#include "plait/ir/inside/evaluation/frame_layout.h"
#include "plait/ir/inside/evaluation/value_check.h"
#include "plait/ir/primitive.h"

namespace plait::ir {

class Evaluation;

// An instruction that calls functions until it is done.
class Loop {
 public:
  virtual ~Loop() = default;
  // Called when the loop begins, then after each call, whose results are in `evaluation`. Either
  // enters the next callee, or stores the loop's own results in `evaluation` and returns true.
  virtual bool advance(Evaluation& evaluation) = 0;
};

// The arguments for constructing a loop; valid only during construction.
struct LoopStart {
  Instruction instruction;
  std::span<const uint32_t> callees;
  std::vector<int64_t> sizes;  // passed to the callees
  std::span<Value> operands;   // may be moved from
};
std::unique_ptr<Loop> make_while_loop(const LoopStart& start);
std::unique_ptr<Loop> make_scan_loop(const LoopStart& start, Evaluation& evaluation);
std::unique_ptr<Loop> make_unwind_loop(const LoopStart& start);

struct PreparedProgram::State {
  explicit State(Program given);

  Program program;
  std::vector<FrameLayout> layouts;  // one per function
};

class Evaluation {
 public:
  Evaluation(const Program& program, Machine& machine, const EvaluatorOptions& options);
  Evaluation(const PreparedProgram& prepared, Machine& machine, const EvaluatorOptions& options);

  Evaluated run(uint32_t function, std::span<const int64_t> sizes, std::span<Value> arguments);

  // For loops: the results of the call that ended last, and the results of an instruction.
  std::vector<Value> results;
  std::vector<int64_t> size_results;

  Machine& machine() { return machine_; }
  void enter(uint32_t function, std::span<const int64_t> sizes, std::span<Value> arguments);
  int64_t size(Dim dim) const;  // in the innermost function
  std::vector<int64_t> sizes(std::span<const Dim> dims) const;

 private:
  struct Frame {
    const FrameLayout* layout;
    uint32_t function;
    uint32_t next = 0;  // index of the instruction
    size_t first_slot;
    SymbolMap<int64_t> sizes;
    std::unique_ptr<Loop> loop;  // the loop that the next instruction is executing

    Instruction instruction() const { return layout->function().instruction(next); }
  };

  // evaluation.cpp
  const FrameLayout& layout_of(uint32_t function);
  void step();
  void take_values(const Frame& frame, size_t instruction, std::vector<Value>& into);
  void leave();
  void deliver();
  void store();
  void check_results(const Frame& frame, const Instruction& instruction) const;
  std::string callers() const;
  void explain(Error& error) const;

  // evaluation_data.cpp: instructions without calls. They read operands_ and fill results.
  void run_machine(const Instruction& instruction);
  void give_size(const Instruction& instruction);
  void take_as_size(const Instruction& instruction);
  void refine(const Instruction& instruction);
  void check_size_guard(const Instruction& instruction);
  void check_guard(const Instruction& instruction);
  void fail_guard(const Instruction& instruction, std::string message);
  void take_element(const Instruction& instruction);
  void pack(const Instruction& instruction);
  void unpack();
  void test_presence();

  // evaluation_control.cpp
  bool start(const Instruction& instruction);  // true if it is done
  LoopStart loop_start(const Instruction& instruction);
  bool begin(std::unique_ptr<Loop> loop);
  void enter_callee(const Instruction& instruction, size_t callee, size_t first_operand);
  void enter_branch(const Instruction& instruction);

  const Program& program_;
  Machine& machine_;
  const EvaluatorOptions& options_;
  std::span<const FrameLayout> prepared_;
  std::vector<std::unique_ptr<const FrameLayout>> layouts_;  // for programs that are not prepared
  std::vector<Frame> frames_;
  std::vector<Value> slots_;
  std::vector<Value> operands_;
  size_t guards_ = 0;  // number of guards checked so far
};

}  // namespace plait::ir
