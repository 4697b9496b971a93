// Evaluates programs on arrays: the evaluator's machine (ir/evaluation/machine.h), which runs a
// kernel for each instruction.
#pragma once

#include "plait/ir/evaluation/evaluator.h"
#include "plait/ir/evaluation/machine.h"
#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

class TensorMachine : public ir::Machine {
 public:
  static ir::Value value_of(Array array) { return ir::Value::of(std::move(array)); }
  static const Array& array_of(const ir::Value& value) { return value.as<Array>(); }
  static ir::Value value_of(const Tensor& tensor);
  static Tensor tensor_of(ir::Value value, const ir::Type& type);

  void run(ir::PrimitiveCall& call) override;
  ir::Value literal(const Literal& literal) override;
  ir::Value from_size(int64_t size, DType dtype) override;
  ir::Value from_boolean(bool truth) override;
  int64_t to_integer(const ir::Value& scalar) override;
  bool to_boolean(const ir::Value& scalar) override;
  ir::ArraySizes sizes_of(const ir::Value& array) override;
  ir::Value slice(const ir::Value& stacked, int64_t index) override;
  ir::Value stack(std::span<const ir::Value> slices, const ir::ArraySizes& each) override;
};

// Converts tensors to values, and results of a program back to tensors. An empty tensor is an empty
// value.
std::vector<ir::Value> values_of(std::vector<Tensor> tensors);
std::vector<Tensor> tensors_of(const ir::Program& program, std::vector<ir::Value> results);

// Evaluates a program whose parameters and results are arrays and records.
std::vector<Tensor> evaluate(const ir::Program& program, std::span<const Tensor> arguments,
                             const ir::EvaluatorOptions& options = {});
// The same; the arguments are donated, so their memory may be reused.
std::vector<Tensor> evaluate_donated(const ir::Program& program, std::vector<Tensor> arguments,
                                     const ir::EvaluatorOptions& options = {});
// The same; the arguments must have the types of the program's parameters, which is not checked. An
// argument that the program does not read may be an empty tensor.
std::vector<Tensor> evaluate_donated(const ir::PreparedProgram& prepared,
                                     std::vector<Tensor> arguments,
                                     const ir::EvaluatorOptions& options = {});

}  // namespace plait
