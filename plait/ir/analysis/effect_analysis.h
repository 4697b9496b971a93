// The effects of each function and instruction of a program, including those of callees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/effects.h"
#include "plait/ir/program.h"

namespace plait::ir {

// The number of callees that may run when the instruction does: all of them, but only the function
// itself of a custom derivative, whose rules run elsewhere.
size_t running_callee_count(const Instruction& instruction);

// True if the instruction may leave the program early: a guard that fails.
bool is_guard(const Instruction& instruction);

// The axes along which it varies how often the callees of an instruction run: those of the
// predicate of `cond`, of the index of `switch`, of the test of `while`.
AxisSet deciding_axes(const Program& program, size_t function, const Instruction& instruction);

// Computes the least fixed point of: the effects of a function are those of its instructions; the
// effects of an instruction are those of its primitive and of its callees. Linear time.
//
// `guarded` of an instruction has the axes along which it varies whether the program continues
// after it: those of a guard's value, and those that decide whether a callee with a guard inside
// runs.
class EffectAnalysis {
 public:
  explicit EffectAnalysis(const Program& program);

  const Effects& of(size_t function) const { return summaries_[function].effects; }
  Effects of(size_t function, const Instruction& instruction) const;
  const Program& program() const { return program_; }

 private:
  struct Summary {
    Effects effects;
    bool has_guard = false;
    friend bool operator==(const Summary&, const Summary&) = default;
  };
  static void include(Summary& caller, const Summary& callee, const AxisSet& deciding);
  static Summary own(const Instruction& instruction);
  void solve(const CallGraph& graph);

  Program program_;
  std::vector<Summary> summaries_;  // one per function
};

}  // namespace plait::ir
