// Writes a planned function: its registers, its steps, and the names of its sizes. A size that it
// names has one meaning in the whole function.
#pragma once

#include <span>
#include <unordered_set>
#include <vector>

#include "plait/compile/inside/plans/plan.h"

namespace plait::compile {

class StepWriter {
 public:
  explicit StepWriter(const ir::Function& function);

  Register new_register(const ir::Type& type);
  const ir::Type& type_of(Register r) const { return planned_.registers[r].type; }
  uint32_t new_counter() { return planned_.counters++; }
  // The symbol, or one with a similar name if the function has it already.
  Dim fresh(Dim symbol);

  // Returns the number of the step.
  uint32_t emit(Step step);
  uint32_t here() const { return static_cast<uint32_t>(planned_.steps.size()); }
  // Sets where a step with a target goes.
  void lead(uint32_t step, uint32_t target);
  void lead(uint32_t step, std::vector<uint32_t> targets);
  void move(std::vector<Register> from, std::vector<Register> to, Location location,
            bool is_loop_carry = false);
  // `leaving` is the step that exits the loop.
  void end_loop(PlannedFunction::Loop loop, uint32_t leaving);
  // The last of the branches ends here.
  void end_branches(std::vector<uint32_t> begins);

  const std::vector<Register>& parameters() const { return planned_.parameters; }
  PlannedFunction finish(std::vector<Register> results, std::vector<Dim> result_sizes);

 private:
  PlannedFunction planned_;
  std::unordered_set<Dim> taken_;
};

}  // namespace plait::compile
