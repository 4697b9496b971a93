// Runs functions of the IR on tensors, instruction by instruction.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

// An instruction without callees that is about to run.
struct ApplyInstruction {
  const ir::Instruction& instruction;
  std::span<const Tensor> operands;
  const ir::Attributes& attributes;  // with the sizes of this run
  std::function<std::vector<Tensor>()> run;
};

struct RunOptions {
  // Called with each value after it was computed; its result replaces the value.
  std::function<Tensor(const ir::Function& function, ir::ValueId value, Tensor given)> on_value =
      {};
  // Runs an instruction instead of its primitive. Calls, also those of `remat`, are inlined then.
  std::function<std::vector<Tensor>(const ApplyInstruction& apply)> in_place_of = {};
  // Called with the outcome of each guard and the expected one. Without it a failed guard is
  // a CheckError.
  std::function<void(bool found, bool expected)> on_guard = {};
  // Returns keys in place of those drawn from the default stream.
  std::function<Tensor()> draw_key = {};
};

// Runs a verified program. In traces calls remain calls.
std::vector<Tensor> run_function(const ir::Program& program, const ir::Function& function,
                                 std::span<const Tensor> arguments, const RunOptions& options = {});

}  // namespace plait
