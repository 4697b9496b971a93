// Products that say which dimensions meet. Dtypes are promoted; integers wrap.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/ops/operand.h"

namespace plait {

// Letters name dimensions: equal ones meet, and those that are not in the result are summed over.
// "ij,jk->ik", "...i,...i->...", "ii" (the trace). Without an arrow the result has the dimensions
// of "...", then the letters that stand there once, by the alphabet. A size of 1 stretches. More
// than two operands are multiplied in the order that costs least for their sizes.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

// Summed over as many of the last dimensions of a and the first of b, or over those named.
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int64_t>& axes_of_a,
                 const std::vector<int64_t>& axes_of_b);

// As NumPy's: over the last dimension of a and the one before the last of b, or its only one.
Tensor dot(const Tensor& a, const Tensor& b);
Tensor inner(const Tensor& a, const Tensor& b);  // over the last dimension of both
Tensor vecdot(const Tensor& a, const Tensor& b, int64_t axis = -1);  // of the conjugate of a

// Stacks of matrices of the same number.
Tensor bmm(const Tensor& a, const Tensor& b);
struct AddedProduct {
  Scalar beta = 1;   // of what is added to; 0: that is not looked at, NaN or not
  Scalar alpha = 1;  // of the product
};
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddedProduct& factors = {});
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddedProduct& factors = {});

}  // namespace plait
