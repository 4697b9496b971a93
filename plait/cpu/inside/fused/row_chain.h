// A kernel whose loops read rows of products and compute rows for other products, block by block:
// none of these rows need be in memory as a whole.
#pragma once

#include <span>
#include <vector>

#include "plait/compile/inside/plans/planned_kernel.h"
#include "plait/cpu/inside/fused/fused_nest.h"

namespace plait::cpu {

// The parts of PlannedKernel that a run needs.
struct RowChain {
  explicit RowChain(const compile::PlannedKernel& kernel)
      : parameters(kernel.parameters),
        products(kernel.products),
        draws(kernel.draws),
        trailing(kernel.trailing),
        needs(kernel.needs),
        result_count(kernel.result_count),
        sizes(kernel.sizes) {}

  std::vector<uint32_t> parameters;
  std::vector<compile::PlannedKernel::Product> products;
  std::vector<compile::PlannedKernel::Draw> draws;
  std::vector<compile::PlannedKernel::Trailing> trailing;
  compile::ColumnNeeds needs;
  uint32_t result_count;
  std::vector<Dim> sizes;
};

// Operands and results are those of the fused function.
void run_row_chain(const FusedNest& nest, const RowChain& chain, const compile::KernelSizes& sizes,
                   std::span<const Array> operands, std::span<Array> results);

}  // namespace plait::cpu
