// Runs the machine code of a kernel on the thread team.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/compile/inside/nests/row_product.h"
#include "plait/compile/inside/plans/plan.h"

namespace plait::compile {

// The sizes of one call.
struct KernelSizes {
  std::vector<int64_t> values;  // values of Nest::sizes()
  std::vector<int64_t> outer;
  int64_t columns = 1;
};

// The product with which the kernel is fused.
struct ProductRun {
  const RowProduct* product;
  int64_t columns;
  std::byte* result = nullptr;  // null unless the whole product is a result
};
// True if the product can be fused: blocks within a single row must end at multiples
// of kColumnStep.
bool can_fuse_product(const PlannedKernel& kernel, const ProductRun& product);

// `result_elements` determines the number of elements in a group of an accumulated result. Results
// do not depend on the number of threads.
void run_kernel(const PlannedKernel& kernel, const KernelSizes& sizes,
                std::span<const std::byte* const> operands, std::span<std::byte* const> results,
                std::span<const int64_t> result_elements, std::span<const DType> result_dtypes,
                const ProductRun* product = nullptr);

}  // namespace plait::compile
