// A nest that continues with a matrix product, as its epilogue.
#pragma once

#include <span>

#include "plait/compile/inside/plans/planned_kernel.h"
#include "plait/cpu/inside/fused/nest_call.h"

namespace plait::cpu {

// `operands` are those of the fused function. Computes the product in blocks of rows, each with the
// nest after it; or the whole product, if that is faster. Sets the address of the product.
void run_with_product(NestCall& call, const compile::PlannedKernel::Product& product,
                      std::span<const Array> operands);

}  // namespace plait::cpu
