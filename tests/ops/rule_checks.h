// Whether the rules of a primitive are right, found out without the transforms that use them.
#pragma once

#include <functional>
#include <vector>

#include "plait/tensor/rules.h"

namespace plait {

using CheckedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// A primitive and its attributes, as a function of tensors used them.
struct UsedPrimitive {
  const ir::Primitive* primitive = nullptr;
  ir::Attributes attributes;

  std::vector<Tensor> operator()(const std::vector<Tensor>& operands) const;
};
// The last instruction that computes when `f` is traced with these.
UsedPrimitive primitive_in(const CheckedFunction& f, const std::vector<Tensor>& arguments);

std::vector<OperandType> types_of(const std::vector<Tensor>& tensors);
double inner_product(const Tensor& a, const Tensor& b);  // Re(Σ a·b)

// Numbers in [-2, 2] without ties, the same on every run.
Tensor scattered(const Sizes& sizes, int seed, DType dtype = DType::f64);

// The tangents that the rule gives against central differences, along a direction. Operands are f64
// (or c128), or whole numbers that are held.
void check_tangents(const UsedPrimitive& used, const std::vector<Tensor>& operands);
// ⟨c, J·t⟩ = ⟨Jᵀ·c, t⟩ for an operand in which it is linear; by Re(Σ c·t) where they are complex.
void check_transpose(const UsedPrimitive& used, const std::vector<Tensor>& operands,
                     size_t operand);
// The batching rule, or the index signature's, against a loop over lanes. Of operands that are
// batched the lanes stand in front.
void check_batching(const UsedPrimitive& used, const std::vector<Tensor>& operands,
                    const std::vector<bool>& batched);

// A traced function gives what it gives when it runs at once.
void check_traced(const CheckedFunction& f, const std::vector<Tensor>& arguments);

void expect_near(const Tensor& got, const Tensor& wanted, double tolerance);
void expect_same_bits(const Tensor& got, const Tensor& wanted);

}  // namespace plait
