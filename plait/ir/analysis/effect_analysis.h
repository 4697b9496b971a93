// What each function and each instruction of a program does besides computing results, callees
// included.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/effects.h"
#include "plait/ir/program.h"

namespace plait::ir {

// The callees that may run when the instruction does: all of them, but only the function itself of
// a custom derivative, whose rules run elsewhere.
size_t running_callee_count(const Instruction& instruction);

// Whether an instruction may leave the program early: a guard that fails.
bool is_guard(const Instruction& instruction);

// The axes along which varies how often the callees of an instruction run: the predicate's of
// `cond`, the index's of `switch`, the test's of `while`.
AxisSet deciding_axes(const Program& program, size_t function, const Instruction& instruction);

// The least solution of: a function does what its instructions do; an instruction does what its
// primitive says and what its callees do. In time linear in the program.
//
// `guarded` of an instruction lists the axes along which varies whether the program goes on after
// it: those of a guard's value, and those that decide whether a callee with a guard inside runs.
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
  std::vector<Summary> summaries_;  // one a function
};

}  // namespace plait::ir
