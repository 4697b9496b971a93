// The run of a companion beside a trace: it computes the values that traced tensors have.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plait/tensor/inside/tracing/companion.h"
#include "plait/tensor/inside/tracing/open_function.h"
#include "plait/tensor/inside/tracing/pending_values.h"
#include "plait/tensor/inside/tracing/trace_levels.h"
#include "plait/tensor/inside/tracing/traced_instruction.h"
#include "plait/tensor/tensor.h"

namespace plait {

class NeededInstructions;
namespace ir {
class Copier;
}

class CompanionRun {
 public:
  CompanionRun(std::shared_ptr<TraceScope> scope, OpenFunction& function, TraceLevels& levels);

  // From now on the companion executes what is recorded. Sizes have the numbers of the enclosing
  // trace at first, if any.
  void begin(Companion& companion, const TracedSizes* outer);
  Companion* companion() const { return companion_; }  // null if nothing is executed
  bool is_eager() const { return is_executed(Execution::eagerly); }
  bool is_in_pieces() const { return is_executed(Execution::in_pieces); }
  bool is_on_demand() const { return is_executed(Execution::on_demand); }
  // True if some parameter represents a tensor that this level follows.
  bool has_parameter_of(const Level& level) const {
    return companion_ != nullptr && companion_->has_parameter_of(level);
  }

  // Host code asked for the value of a tensor that is unknown.
  void note_unknown_read() { is_asked_ = true; }
  bool has_unknown_read() const { return is_asked_; }

  // ---- One instruction.

  // Throws the error of the type rule for the sizes of this run: a rule may accept a symbol where
  // it refuses the number, and host code that follows must not run.
  void expect_right_sizes(const TracedInstruction& instruction) const;
  // True if the instruction, which is refused for symbolic sizes, is valid for those of this run.
  bool is_right(const TracedInstruction& instruction);
  // Executes a recorded instruction. Empty if an operand is unknown.
  std::vector<Tensor> results_of(const TracedInstruction& instruction, const ir::Added& added);

  // ---- In pieces, or on demand.

  PendingValues& values() { return values_; }
  const PendingValues& values() const { return values_; }
  // Computes a value that is read, with others.
  void compute(ir::ValueId value);

  // In pieces: `given` makes an argument, in place of a parameter; `compute_pending` computes
  // everything that was recorded and is still referenced.
  Tensor given(const ir::Type& type, Tensor actual);
  void compute_pending();
  void begin_piece();

  // On demand: computes everything that is still referenced, except for these tensors.
  void compute_referenced(std::span<const Tensor> except = {});
  // The same after an error: all values that do not depend on what has failed.
  void compute_what_does_not_fail();
  // On demand: lets the effects happen that have not.
  void compute_effects();

 private:
  class Outside;
  bool is_executed(Execution how) const {
    return companion_ != nullptr && companion_->execution() == how;
  }
  NeededInstructions nothing_yet() const;
  void compute(const NeededInstructions& needed);
  std::vector<Tensor> operands_of(const NeededInstructions& needed, ir::FunctionBuilder& part,
                                  ir::Copier& copier) const;
  // Cuts off what was recorded since the last cut, as a function whose inputs are the earlier
  // values that it uses; then starts the next piece.
  TracedPiece cut(std::span<const ir::ValueId> results);

  const std::shared_ptr<TraceScope> scope_;
  OpenFunction& function_;
  TraceLevels& levels_;
  Companion* companion_ = nullptr;
  PendingValues values_;
  uint32_t effects_until_ = 0;  // instructions before this one whose effects happened, on demand
  bool is_asked_ = false;
};

}  // namespace plait
