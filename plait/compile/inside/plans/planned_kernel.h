// The loop nest of a fused function, and what a plan must know of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/inside/targets/fused_kernel.h"
#include "plait/ir/program.h"

namespace plait::compile {

// A fused function, its loop nest, and what the target made of it.
struct PlannedKernel {
  std::shared_ptr<const ir::Function> function;
  Nest nest;
  // The operand of each nest parameter; for the product, a number past the operands.
  std::vector<uint32_t> parameters;
  // The product with which the loops are fused, as its epilogue.
  struct Product {
    uint32_t a, b;           // operands; b may have to be rounded
    uint32_t parameter;      // the nest's parameter that is the product
    bool is_result = false;  // it is also the last result
    DType dtype;
  };
  std::optional<Product> product = {};
  std::shared_ptr<const FusedKernel> compiled = {};
  // Results that may overwrite an operand: each element is written after its last read.
  struct Overwrite {
    uint32_t result, operand;
  };
  std::vector<Overwrite> overwrites = {};
  std::vector<Dim> sizes = {};  // nest.sizes()
};

// Not compiled yet.
PlannedKernel planned_kernel(std::shared_ptr<const ir::Function> function);

}  // namespace plait::compile
