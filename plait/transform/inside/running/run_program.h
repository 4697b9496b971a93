// Functions of the IR run among tensors, instruction by instruction.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

// An instruction without callees that is about to be run.
struct ApplyInstruction {
  const ir::Instruction& instruction;
  std::span<const Tensor> operands;
  const ir::Attributes& attributes;  // in the sizes of this run
  std::function<std::vector<Tensor>()> run;
};

struct RunOptions {
  // Called with each value when it is there; what it gives is used in its place.
  std::function<Tensor(const ir::Function& function, ir::ValueId value, Tensor given)> on_value =
      {};
  // Runs an instruction of a primitive in its own way. Calls are part of the function then, also
  // those of `remat`.
  std::function<std::vector<Tensor>(const ApplyInstruction& apply)> in_place_of = {};
  // Told what each guard finds, and what it expected; without it a difference is a CheckError.
  std::function<void(bool found, bool expected)> on_guard = {};
  // In the place of keys that are drawn from the default stream.
  std::function<Tensor()> draw_key = {};
};

// Whether that holds of an instruction of one of the program's functions.
template <class Holds>
bool any_instruction(const ir::Program& program, const Holds& holds) {
  for (const auto& function : program.functions()) {
    for (const ir::Instruction instruction : function->instructions()) {
      if (holds(instruction)) return true;
    }
  }
  return false;
}

// Of a verified program. In traces calls become such again.
std::vector<Tensor> run_function(const ir::Program& program, const ir::Function& function,
                                 std::span<const Tensor> arguments, const RunOptions& options = {});

}  // namespace plait
