// One evaluation of a program. The functions that are being evaluated are kept on a list, not on
// the stack of the process. Internal to the evaluator: users call evaluate (evaluator.h).
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
  // Called first when the loop begins, then each time that a callee has left what it gave in
  // `evaluation`. Enters the next callee, or leaves the loop's own results in `evaluation` and says
  // that it is done.
  virtual bool advance(Evaluation& evaluation) = 0;
};

// What a loop is made from, read while it is made.
struct LoopStart {
  Instruction instruction;
  std::span<const uint32_t> callees;
  std::vector<int64_t> sizes;  // given to the callees
  std::span<Value> operands;   // may be moved from
};
std::unique_ptr<Loop> make_while_loop(const LoopStart& start);
std::unique_ptr<Loop> make_scan_loop(const LoopStart& start, Evaluation& evaluation);
std::unique_ptr<Loop> make_unwind_loop(const LoopStart& start);

struct PreparedProgram::State {
  explicit State(Program given);

  Program program;
  std::vector<FrameLayout> layouts;  // of each function
};

class Evaluation {
 public:
  Evaluation(const Program& program, Machine& machine, const EvaluatorOptions& options);
  Evaluation(const PreparedProgram& prepared, Machine& machine, const EvaluatorOptions& options);

  Evaluated run(uint32_t function, std::span<const int64_t> sizes, std::span<Value> arguments);

  // For loops. What the function that was left last gave, and what an instruction gives.
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
    uint32_t next = 0;  // instruction
    size_t first_slot;
    SymbolMap<int64_t> sizes;
    std::unique_ptr<Loop> loop;  // that the next instruction is going round

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

  // evaluation_data.cpp: instructions that are done at once. They read operands_ and fill results.
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
  void ask_present();

  // evaluation_control.cpp
  bool start(const Instruction& instruction);  // true: it is done
  LoopStart loop_start(const Instruction& instruction);
  bool begin(std::unique_ptr<Loop> loop);
  void enter_callee(const Instruction& instruction, size_t callee, size_t first_operand);
  void enter_branch(const Instruction& instruction);

  const Program& program_;
  Machine& machine_;
  const EvaluatorOptions& options_;
  std::span<const FrameLayout> prepared_;
  std::vector<std::unique_ptr<const FrameLayout>> layouts_;  // where they are not prepared
  std::vector<Frame> frames_;
  std::vector<Value> slots_;
  std::vector<Value> operands_;
  size_t guards_ = 0;  // that have been checked
};

}  // namespace plait::ir
