// Comparing tensors as numbers, and rules with differences of the function itself.
#pragma once

#include <functional>
#include <vector>

#include "plait/ir/primitive.h"
#include "plait/tensor/tensor.h"

namespace plait {

// The numbers in row-major order; real parts, then imaginary ones.
std::vector<std::complex<double>> numbers_of(const Tensor& x);
// The greatest |a - b|; NaN where one is. Shapes must be equal.
double distance(const Tensor& a, const Tensor& b);
double distance(const Tensor& a, const std::vector<std::complex<double>>& b);

// Standard normal numbers, with imaginary parts where the dtype has some.
Tensor noise(uint64_t seed, const Shape& shape, DType dtype);

using TensorFunction = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

// The tangents rule of a primitive.
std::vector<Tensor> tangents_by_rule(const ir::Primitive& primitive,
                                     const ir::Attributes& attributes,
                                     std::span<const Tensor> operands,
                                     std::span<const Tensor> tangents);
// (f(x + h t) - f(x - h t)) / 2h.
std::vector<Tensor> tangents_by_difference(const TensorFunction& f, std::span<const Tensor> x,
                                           std::span<const Tensor> t, double h);
// |Re Σ c f(x) - Re Σ f'(c) x| for a linear primitive and its transpose for one operand, relative
// to the first.
double transpose_defect(const ir::Primitive& primitive, const ir::Attributes& attributes,
                        std::span<const Tensor> operands, size_t operand);
// Whether the batching rule gives for a batch of three, in front of the operands that are
// `batched`, what the primitive gives for each alone; the greatest distance.
double batching_defect(const ir::Primitive& primitive, const ir::Attributes& attributes,
                       std::span<const Tensor> operands, const std::vector<bool>& batched);

}  // namespace plait
