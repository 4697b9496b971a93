// Runs the machine code of a kernel in the thread team.
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
  std::vector<int64_t> values;  // of Nest::sizes()
  std::vector<int64_t> outer;
  int64_t columns = 1;
};

// The product whose rows the kernel goes along with.
struct ProductRun {
  const RowProduct* product;
  int64_t columns;
  std::byte* result = nullptr;  // where the whole of it is wanted
};
// Whether it can: parts of what lies in one row end at multiples of kColumnStep.
bool can_go_along(const PlannedKernel& kernel, const ProductRun& product);

// Of accumulated results, how many elements one group has, is told by their sizes. Results come out
// the same whatever the number of threads.
void run_kernel(const PlannedKernel& kernel, const KernelSizes& sizes,
                std::span<const std::byte* const> operands, std::span<std::byte* const> results,
                std::span<const int64_t> result_elements, std::span<const DType> result_dtypes,
                const ProductRun* product = nullptr);

}  // namespace plait::compile
