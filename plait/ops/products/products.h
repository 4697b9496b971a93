// Tensor contractions. Dtypes are promoted; integers wrap.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/ops/operand.h"

namespace plait {

// Letters name dimensions: equal letters are multiplied together, and letters that are not in the
// result are summed over. Examples: "ij,jk->ik", "...i,...i->...", "ii" (the trace). Without an
// arrow the result has the dimensions of "...", then the letters that occur once, in alphabetical
// order. A size of 1 is broadcast. More than two operands are multiplied in the cheapest order for
// their sizes.
Tensor einsum(std::string_view equation, std::span<const Tensor> operands);
Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands);

// Sums over the last `count` dimensions of a and the first `count` of b, or over the given axes.
Tensor tensordot(const Tensor& a, const Tensor& b, int64_t count = 2);
Tensor tensordot(const Tensor& a, const Tensor& b, const std::vector<int64_t>& axes_of_a,
                 const std::vector<int64_t>& axes_of_b);

// As in NumPy: sums over the last dimension of a and the second to last of b, or its only one.
Tensor dot(const Tensor& a, const Tensor& b);
Tensor inner(const Tensor& a, const Tensor& b);  // sums over the last dimension of both
Tensor vecdot(const Tensor& a, const Tensor& b, int64_t axis = -1);  // conjugates a

// Products of two stacks of matrices, of the same length.
Tensor bmm(const Tensor& a, const Tensor& b);
struct AddedProduct {
  Scalar beta = 1;   // factor of x; for 0, x is ignored, even if it is NaN
  Scalar alpha = 1;  // factor of the product
};
Tensor addmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddedProduct& factors = {});
Tensor baddbmm(const Tensor& x, const Tensor& a, const Tensor& b, const AddedProduct& factors = {});

}  // namespace plait
