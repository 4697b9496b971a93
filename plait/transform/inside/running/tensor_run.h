// A run of functions of the IR on tensors, as the structural instructions see it.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"
#include "plait/transform/inside/forms/form.h"
#include "plait/transform/inside/running/function_run.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {

// Every value is a tensor, of the open trace if there is one. The options concern the whole run,
// also within callees.
class TensorRun final : public FunctionRun<Tensor> {
 public:
  // The options must outlive the run.
  TensorRun(const ir::Program& program, const RunOptions& options)
      : FunctionRun(program), options_(options) {}

  const RunOptions& options() const { return options_; }

  // The callee as a function of the arguments after some constants.
  TensorFunction called(const ir::Instruction& instruction, size_t i,
                        std::span<const Tensor> constants = {});
  // The same with a key as its last argument, from which random keys are derived.
  TensorFunction called_with_key(const ir::Instruction& instruction, size_t i,
                                 std::span<const Tensor> constants);
  // True if the options say where keys come from, and a callee draws some.
  bool needs_keys(const ir::Instruction& instruction) const;

  // True for functions that are recursive, or may be once open functions are finished.
  bool stays_a_call(const ir::Function& called);

  // Includes the callees of a branch or a loop in the open trace unchanged. If no level follows it
  // and no size becomes a number, recording them again would give the same functions, at a cost
  // exponential in the depth of nesting. Returns nothing if they must be recorded again.
  std::optional<std::vector<Tensor>> stage_as_it_stands(const OnTensors& here);

 private:
  ir::Type type_of(const Tensor& tensor) const override { return tensor.type(); }
  Dim size_of(const Tensor& count, bool at_least) override;
  Tensor noted(const ir::Function& function, ir::ValueId value, Tensor given) override {
    return options_.on_value ? options_.on_value(function, value, std::move(given)) : given;
  }
  std::vector<Tensor> run(const ir::Instruction& instruction, std::span<const Tensor> operands,
                          const SymbolMap<Dim>& sizes) override;

  std::vector<Tensor> run_operation(const ir::Instruction& instruction,
                                    std::span<const Tensor> operands, const SymbolMap<Dim>& sizes);
  bool may_stand(const OnTensors& here);
  bool calls_open_functions();
  bool draws_any_keys();

  const RunOptions& options_;
  std::optional<bool> has_open_calls_, draws_keys_;  // computed on first use
};

// Casts floats to the declared dtype, which autocast may have changed.
std::vector<Tensor> as_declared(const ir::Function& callee, std::span<const Tensor> operands);

}  // namespace plait
