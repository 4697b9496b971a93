// Batched execution: runs a function that was recorded for one lane (sample) on many lanes.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/transform/inside/batching/lane_values.h"
#include "plait/transform/inside/running/function_run.h"

namespace plait {

// Runs `function` on these arguments. An argument that is not batched is shared by all lanes.
std::vector<LaneValue> run_batched(const ir::Program& program, const ir::Function& function,
                                   std::span<const LaneValue> arguments, const Lanes& lanes);

// Such a run, as the structural instructions see it. Types are those of one lane, as the function
// declares them; a batched value has the lanes as its first dimension. A value in which lanes may
// not differ (Lanes::may_differ) is not batched.
class BatchedRun final : public FunctionRun<LaneValue> {
 public:
  BatchedRun(const ir::Program& program, Lanes lanes)
      : FunctionRun(program), lanes_(std::move(lanes)) {}

  const Lanes& lanes() const { return lanes_; }
  ir::Type type_of(const LaneValue& value) const override;
  ir::Type type_in_lanes(const ir::Type& type, bool is_batched) const;

  // The function on tensors, of which these are batched; its results are batched if lanes may
  // differ in them.
  TensorFunction for_all_lanes(const ir::Function& called, std::vector<bool> batched) const;
  // Runs the function for `count` lanes; all results are batched.
  std::vector<Tensor> run_for(const ir::Function& called, std::span<const LaneValue> theirs,
                              Dim count) const;
  // For the results of an instruction that has no lanes: zeros of their types.
  std::vector<Tensor> zeros_for(const ir::Instruction& instruction,
                                const SymbolMap<Dim>& sizes) const;

 private:
  std::vector<LaneValue> run(const ir::Instruction& instruction,
                             std::span<const LaneValue> operands,
                             const SymbolMap<Dim>& sizes) override;
  Dim size_of(const LaneValue& count, bool at_least) override;

  std::vector<LaneValue> run_operation(const ir::Instruction& instruction,
                                       std::span<const LaneValue> operands,
                                       const SymbolMap<Dim>& sizes) const;
  std::vector<Tensor> apply(const ir::Instruction& instruction, std::span<const LaneValue> operands,
                            const SymbolMap<Dim>& sizes) const;
  bool communicates_here(const ir::Instruction& instruction) const;
  LaneValue combined_along_axis(const ir::Instruction& instruction, const LaneValue& x) const;

  const Lanes lanes_;
};

}  // namespace plait
