// The products of a batch, cut into parts that one call of a library or kernel computes.
#pragma once

#include <cstdint>

#include "plait/core/function_ref.h"
#include "plait/ops/inside/products/batched_products.h"

namespace plait::cuda {

// Pairs of matrices at fixed distances; the first ones are at the addresses.
struct ProductPart {
  Products::Single first;
  int64_t count = 1;
  int64_t a_stride = 0, b_stride = 0, out_stride = 0;  // in elements; 0 if there is one pair
};

// The parts of a batch, apart from those that limits of sizes make: the largest dimension of the
// batch is within a part, the others are loops.
int64_t count_parts(const Products& products);

// Calls run for each part, until it returns false; returns its last result. Parts have at most
// 65,535 pairs, and 2^30 rows. The result may have another dtype than the operands.
bool for_each_part(const Products& products, DType result,
                   FunctionRef<bool(const ProductPart&)> run);

}  // namespace plait::cuda
