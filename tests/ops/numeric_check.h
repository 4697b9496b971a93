// Comparison of tensors as numbers, and of rules with finite differences.
#pragma once

#include <complex>
#include <vector>

#include "plait/tensor/tensor.h"

#include "tests/ops/rule_checks.h"

namespace plait {

// The numbers in row-major order, as complex numbers.
std::vector<std::complex<double>> numbers_of(const Tensor& x);
// max |a - b|; NaN if any element is NaN. Shapes must be equal.
double distance(const Tensor& a, const Tensor& b);
double distance(const Tensor& a, const std::vector<std::complex<double>>& b);

// Standard normal numbers, with imaginary parts if the dtype is complex.
Tensor noise(uint64_t seed, const Shape& shape, DType dtype);
// Matrices.
Tensor positive_definite(uint64_t seed, const Shape& shape, DType dtype);

// The tangents by the rule, which sees only the operands and results that it declares to read.
std::vector<Tensor> tangents_by_rule(const UsedPrimitive& used, const std::vector<Tensor>& operands,
                                     const std::vector<Tensor>& tangents);
// (f(x + h t) - f(x - h t)) / 2h for a small h.
std::vector<Tensor> tangents_by_difference(const CheckedFunction& f, const std::vector<Tensor>& x,
                                           const std::vector<Tensor>& t);
}  // namespace plait
