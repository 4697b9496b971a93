// Host functions recorded as functions of the IR, and instructions that call them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {

// A function recorded as a program of its own. Its captures are its last parameters.
struct StagedFunction {
  ir::Program program;
  const ir::Function* function = nullptr;  // in `program`
  std::vector<Tensor> captures = {};

  // Runs the function eagerly or into the open trace; `arguments` include the captures.
  std::vector<Tensor> operator()(std::span<const Tensor> arguments,
                                 const RunOptions& options = {}) const {
    return run_function(program, *function, arguments, options);
  }
};
// The actual arguments and the companion that computes with them; empty if the values are unknown.
struct StageNumbers {
  Companion* companion = nullptr;
  std::span<const Tensor> actual = {};
  std::span<const Tensor> beside = {};  // each argument will be where one of these is
};
StagedFunction stage(const std::string& name, std::span<const ir::Type> parameters,
                     const TensorFunction& function, const StageNumbers& numbers = {});
std::vector<ir::Type> ir_types_of(std::span<const Tensor> tensors);

// Gives several functions of the same arguments the same operands: the arguments, followed by the
// captures of all of them.
class Captures {
 public:
  explicit Captures(std::span<const Tensor> arguments)
      : arguments_(arguments.size()), operands_(arguments.begin(), arguments.end()) {}

  // Adds the captures of a function; returns their places among the operands.
  std::vector<size_t> add(const StagedFunction& function);
  // Returns the function of all operands. Call it after all functions were added.
  StagedFunction of_operands(const StagedFunction& function,
                             const std::vector<size_t>& places) const;
  const std::vector<Tensor>& operands() const { return operands_; }

 private:
  size_t arguments_;
  std::vector<Tensor> operands_;
};
std::vector<Tensor> picked(std::span<const Tensor> operands, const std::vector<size_t>& places);

// Returns the values of these sizes, each a dimension of a declared type, in the given tensors.
std::vector<Dim> sizes_shown(std::span<const Dim> sizes, std::span<const ir::Type> declared,
                             std::span<const Tensor> given);
// Stem for the names of sizes derived from this one.
std::string stem_of(Dim size);

// A function to record as a callee. It has no captures.
struct NewCallee {
  std::string name;  // or a similar one
  std::vector<ir::Type> parameters;
  TensorFunction function;
  // Its own size parameters, which come first, and their values at the call. With `gives_sizes`,
  // its results have the types of its last parameters, and determine these sizes for the next step.
  std::vector<Dim> own_sizes = {}, begin_as = {};
  bool gives_sizes = false;
  std::vector<Dim> other_sizes = {};  // further size parameters, used or not
};
// Records into the open trace. All callees receive the sizes that occur in the operands' types.
std::vector<Tensor> record_with_callees(const ir::Primitive& primitive,
                                        std::span<const Tensor> operands,
                                        const ir::Attributes& attributes,
                                        std::span<const NewCallee> callees);

}  // namespace plait
