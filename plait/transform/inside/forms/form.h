// The structural instructions: how each of them runs on tensors, how a trace records it, how it
// runs for many samples, and what derivatives ask about it. The files *_form.cpp and *_forms.cpp of
// these folders define the forms, those of one kind together; the longer algorithms behind them are
// in the files beside. forms.cpp lists them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/ir/structure.h"
#include "plait/tensor/tensor.h"
#include "plait/transform/inside/batching/batched_values.h"

namespace plait {

class BatchedRun;  // inside/batching/batch.h
class TensorRun;   // inside/running/tensor_run.h

// An instruction, its operands, and the values of its symbolic sizes.
struct OnTensors {
  const ir::Instruction& instruction;
  std::span<const Tensor> operands;
  const SymbolMap<Dim>& sizes;
  TensorRun* run =
      nullptr;  // the run of its function. Null if it runs alone; then it has no callees
};
struct OnSamples {
  const ir::Instruction& instruction;
  std::span<const BatchedValue> operands;
  const SymbolMap<Dim>& sizes;
  BatchedRun& run;
};

// Properties of a form that derivatives of recorded functions ask for. When it runs on tensors that
// are followed, it gives its results their derivatives itself (`follow_custom`).
struct Follow {
  // Its callees are a function and the rules for its derivative.
  bool has_rule = false;
  // It runs so many of its callees, and only names the others.
  size_t runs = SIZE_MAX;
  // Returns the cotangent of its operand. Null if its primitive has rules.
  Tensor (*pull)(const ir::Instruction& instruction, const Tensor& cotangent) = nullptr;
};

struct Form {
  // Runs it. Null if it cannot run on tensors.
  std::vector<Tensor> (*run)(const OnTensors& here) = nullptr;
  // Runs it while a trace is open. Null if `run` does this too.
  std::vector<Tensor> (*stage)(const OnTensors& here) = nullptr;
  // Runs it for many samples. Null if it has no batching rule.
  std::vector<BatchedValue> (*batch)(const OnSamples& here) = nullptr;
  Follow follow = {};
};

// The form of an instruction that is not `machine`.
const Form& form_of(ir::Structure structure);

// TypeError if the form cannot do it.
std::vector<Tensor> run_form(const OnTensors& here);
std::vector<BatchedValue> batch_form(const OnSamples& here);
[[noreturn]] void refuse_batching(const ir::Instruction& instruction);

// Runs it once for all samples. No operand is batched.
std::vector<BatchedValue> run_for_all_samples(const OnSamples& here);

}  // namespace plait
