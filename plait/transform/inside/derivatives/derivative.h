// The derivative of one application of a primitive, from whichever rules it declares.
#pragma once

#include <span>
#include <vector>

#include "plait/tensor/rules.h"

namespace plait {

// What rules may look at: operands and results that they do not read may be empty.
struct Application {
  const ir::Primitive& primitive;
  const ir::Attributes& attributes;
  std::span<const Tensor> operands;
  std::span<const Tensor> results;
  std::span<const OperandType> operand_types;
  std::span<const OperandType> result_types;
};

std::vector<OperandType> types_of(std::span<const Tensor> tensors);
// Whether it holds real or complex numbers somewhere.
bool has_tangent(const Tensor& tensor);
// The zero tangent or cotangent of that type; empty where it has none.
Tensor zeros_of(const OperandType& type);
// Of tangents or cotangents; an empty one is zero.
Tensor sum_of(const Tensor& a, const Tensor& b);

bool reads_operand(const Reads& reads, size_t i);
bool reads_result(const Reads& reads, size_t i);

// What the derivative by the `wanted` operands reads. TypeError for a primitive without rules.
Reads reads_of(const ir::Primitive& primitive, const std::vector<bool>& wanted);
// Whether the results depend smoothly on one of these operands.
bool is_differentiable(const ir::Primitive& primitive, const std::vector<bool>& wanted);

// The tangents of the results, from those of the operands; empty is zero.
std::vector<Tensor> push_forward(const Application& applied, std::span<const Tensor> tangents);

// The cotangents of the wanted operands, from those of the results; empty is zero.
std::vector<Tensor> pull_back(const Application& applied, std::span<const Tensor> cotangents,
                              const std::vector<bool>& wanted);

}  // namespace plait
