// An instruction to be recorded: ir::NewInstruction with tensors as operands.
#pragma once

#include <algorithm>
#include <span>

#include "plait/ir/builder.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct TracedInstruction {
  const ir::Primitive& primitive;
  std::span<const Tensor> operands = {};
  ir::Attributes attributes = {};
  std::span<const ir::Callee> callees = {};
  std::span<const Dim> size_arguments = {};
  std::span<const ir::Type> stated_types = {};

  // Where its results will be. Those of a function that moves what it computes may be elsewhere.
  Device result_device() const {
    return primitive.result_place != nullptr ? primitive.result_place(attributes).device
                                             : device_of(operands);
  }
  bool knows_result_device() const {
    if (primitive.result_place != nullptr) return true;
    return callees.empty() && std::ranges::all_of(operands, [](const Tensor& operand) {
             return !operand.is_traced() || operand.traced().knows_device;
           });
  }
  bool gives_unplaced() const {
    if (primitive.result_place != nullptr) return primitive.result_place(attributes).is_unplaced;
    return callees.empty() && std::ranges::all_of(operands, [](const Tensor& operand) {
             return !operand || operand.is_unplaced() ||
                    (operand.is_array() && is_key(operand.dtype()));
           });
  }
};

}  // namespace plait
