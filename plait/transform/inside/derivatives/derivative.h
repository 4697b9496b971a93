// Derivative of one application of a primitive, by the rules that it declares.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/rules.h"

namespace plait {

// The inputs of a rule. Operands and results that the rule does not read may be empty.
struct Application {
  const ir::Primitive& primitive;
  const ir::Attributes& attributes;
  std::span<const Tensor> operands;
  std::span<const Tensor> results;
  std::span<const OperandType> operand_types;
  std::span<const OperandType> result_types;
};

std::vector<OperandType> types_of(std::span<const Tensor> tensors);

bool reads_operand(const Reads& reads, size_t i);
bool reads_result(const Reads& reads, size_t i);

// Values that the derivative with respect to the `wanted` operands reads. TypeError for a primitive
// without rules.
Reads reads_of(const ir::Primitive& primitive, const std::vector<bool>& wanted);
// True if a result depends smoothly on one of these operands.
bool is_differentiable(const ir::Primitive& primitive, const std::vector<bool>& wanted);

// JVP: returns the tangents of the results; empty is zero.
std::vector<Tensor> push_forward(const Application& applied, std::span<const Tensor> tangents);

// VJP: returns the cotangents of the wanted operands; empty is zero.
std::vector<Tensor> pull_back(const Application& applied, std::span<const Tensor> cotangents,
                              const std::vector<bool>& wanted);

}  // namespace plait
