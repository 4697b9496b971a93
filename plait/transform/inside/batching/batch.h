// Batched execution: runs a function that was recorded for one sample (sample) on many samples.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/transform/inside/batching/batched_values.h"
#include "plait/transform/inside/running/function_run.h"

namespace plait {

// Runs `function` on these arguments. An argument that is not batched is shared by all samples.
std::vector<BatchedValue> run_batched(const ir::Program& program, const ir::Function& function,
                                      std::span<const BatchedValue> arguments,
                                      const Samples& samples);

// Such a run, as the structural instructions see it. Types are those of one sample, as the function
// declares them; a batched value has the samples as its first dimension. A value in which samples
// may not differ (Samples::may_differ) is not batched.
class BatchedRun final : public FunctionRun<BatchedValue> {
 public:
  BatchedRun(const ir::Program& program, Samples samples)
      : FunctionRun(program), samples_(std::move(samples)) {}

  const Samples& samples() const { return samples_; }
  ir::Type type_of(const BatchedValue& value) const override;
  ir::Type type_of_samples(const ir::Type& type, bool is_batched) const;

  // The function on tensors, of which these are batched; its results are batched if samples may
  // differ in them.
  TensorFunction for_all_samples(const ir::Function& called, std::vector<bool> batched) const;
  // Runs the function for `count` samples; all results are batched.
  std::vector<Tensor> run_for(const ir::Function& called, std::span<const BatchedValue> theirs,
                              Dim count) const;
  // For the results of an instruction that has no samples: zeros of their types.
  std::vector<Tensor> zeros_for(const ir::Instruction& instruction,
                                const SymbolMap<Dim>& sizes) const;

 private:
  std::vector<BatchedValue> run(const ir::Instruction& instruction,
                                std::span<const BatchedValue> operands,
                                const SymbolMap<Dim>& sizes) override;
  Dim size_of(const BatchedValue& count, bool at_least) override;

  std::vector<BatchedValue> run_operation(const ir::Instruction& instruction,
                                          std::span<const BatchedValue> operands,
                                          const SymbolMap<Dim>& sizes) const;
  std::vector<Tensor> apply(const ir::Instruction& instruction,
                            std::span<const BatchedValue> operands,
                            const SymbolMap<Dim>& sizes) const;
  bool communicates_here(const ir::Instruction& instruction) const;
  BatchedValue combined_along_axis(const ir::Instruction& instruction, const BatchedValue& x) const;

  const Samples samples_;
};

}  // namespace plait
