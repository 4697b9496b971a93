// Host functions recorded as functions of the IR, and instructions that call such.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {

// A function recorded on its own: what it captures are its last parameters.
struct StagedFunction {
  ir::Program program;
  const ir::Function* function = nullptr;  // of that program
  std::vector<Tensor> captures = {};

  // Through the gateway, with values for the captures too.
  std::vector<Tensor> operator()(std::span<const Tensor> arguments,
                                 const RunOptions& options = {}) const {
    return run_function(program, *function, arguments, options);
  }
};
// What the parameters are this time, and who computes the rest; empty where nobody knows.
struct StageNumbers {
  Companion* companion = nullptr;
  std::span<const Tensor> actual = {};
};
StagedFunction stage(const std::string& name, std::span<const ir::Type> parameters,
                     const TensorFunction& function, const StageNumbers& numbers = {});
std::vector<ir::Type> ir_types_of(std::span<const Tensor> tensors);

// Several functions of the same arguments, made functions of the same operands: the arguments, and
// what any of them captures.
class Captures {
 public:
  explicit Captures(std::span<const Tensor> arguments)
      : arguments_(arguments.size()), operands_(arguments.begin(), arguments.end()) {}

  // Where the captures of a function are among the operands.
  std::vector<size_t> add(const StagedFunction& function);
  // The function of the operands, once all have been added.
  StagedFunction of_operands(const StagedFunction& function,
                             const std::vector<size_t>& places) const;
  const std::vector<Tensor>& operands() const { return operands_; }

 private:
  size_t arguments_;
  std::vector<Tensor> operands_;
};
std::vector<Tensor> picked(std::span<const Tensor> operands, const std::vector<size_t>& places);

// What these sizes, each a dimension of a declared type, are in tensors of such types.
std::vector<Dim> sizes_shown(std::span<const Dim> sizes, std::span<const ir::Type> declared,
                             std::span<const Tensor> given);
// What sizes that come of this one may be called.
std::string stem_of(Dim size);

// A function to be recorded as a callee. It captures nothing.
struct NewCallee {
  std::string name;  // or one like it
  std::vector<ir::Type> parameters;
  TensorFunction function;
  // Size parameters of its own, which come first, and what they are where it is called. With
  // `gives_sizes` its results are as its last parameters, and say what these sizes are next.
  std::vector<Dim> own_sizes = {}, begin_as = {};
  bool gives_sizes = false;
  std::vector<Dim> other_sizes = {};  // which it has besides, whether it needs them or not
};
// Into the trace that is open. All callees take the sizes that the operands have.
std::vector<Tensor> record_with_callees(const ir::Primitive& primitive,
                                        std::span<const Tensor> operands,
                                        const ir::Attributes& attributes,
                                        std::span<const NewCallee> callees);

}  // namespace plait
