// Checks of the rules of primitives, independent of the transforms that use them.
#pragma once

#include <functional>
#include <vector>

#include "plait/tensor/rules.h"

namespace plait {

using CheckedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// A primitive with the attributes with which a function of tensors used it.
struct UsedPrimitive {
  const ir::Primitive* primitive = nullptr;
  ir::Attributes attributes;

  std::vector<Tensor> operator()(const std::vector<Tensor>& operands) const;
};
// Traces `f` with these arguments, and returns its last computing instruction.
UsedPrimitive primitive_in(const CheckedFunction& f, const std::vector<Tensor>& arguments);

std::vector<OperandType> types_of(const std::vector<Tensor>& tensors);
double inner_product(const Tensor& a, const Tensor& b);  // Re(Σ a·b)

// Reproducible numbers in [-2, 2], all different.
Tensor scattered(const Sizes& sizes, int seed, DType dtype = DType::f64);

// The tangents by the rule compared with central differences in one direction. Operands are f64 (or
// c128); integers are held constant.
void check_tangents(const UsedPrimitive& used, const std::vector<Tensor>& operands);
// ⟨c, J·t⟩ = ⟨Jᵀ·c, t⟩ for an operand in which it is linear; for complex numbers with Re(Σ c·t).
void check_transpose(const UsedPrimitive& used, const std::vector<Tensor>& operands,
                     size_t operand);
// The batching rule, or that of the index signature, compared with a loop over the batch. Batched
// operands have the batch dimension in front.
void check_batching(const UsedPrimitive& used, const std::vector<Tensor>& operands,
                    const std::vector<bool>& batched);

// A traced function gives the same as an eager call.
void check_traced(const CheckedFunction& f, const std::vector<Tensor>& arguments);

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance);
void expect_same_bits(const Tensor& got, const Tensor& wanted);

}  // namespace plait
