// The loop nest of a fused function, and what a plan must know of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/inside/plans/needed_columns.h"
#include "plait/compile/inside/targets/fused_kernel.h"
#include "plait/ir/program.h"

namespace plait::compile {

// A fused function, its loop nest, and what the target made of it.
struct PlannedKernel {
  std::shared_ptr<const ir::Function> function;
  Nest nest;
  // The operand of each nest parameter; for a product or a draw, a number past the operands.
  std::vector<uint32_t> parameters;
  // The products with which the loops are fused, as their epilogue.
  struct Product {
    uint32_t a, b;           // operands; b may have to be rounded
    uint32_t parameter;      // the nest's parameter that is the product
    bool is_result = false;  // it is also the last result
    DType dtype;
  };
  std::vector<Product> products = {};
  // Uniform random numbers that the loops read, as f32 with the sizes of the products.
  struct Draw {
    uint32_t key;        // an operand
    uint32_t parameter;  // the nest's parameter for the numbers
  };
  std::vector<Draw> draws = {};
  // The products of rows that the loops compute.
  struct Trailing {
    TrailingProduct::Kind kind;
    uint32_t rows;    // a result of the nest
    uint32_t other;   // an operand
    uint32_t result;  // a result of the function
  };
  std::vector<Trailing> trailing = {};
  ColumnNeeds needs = {};  // empty without trailing products
  std::shared_ptr<const FusedKernel> compiled = {};
  // Results of the nest that are results of the function, the first ones; the others are rows that
  // only trailing products read, and then the maximum of each row, if `needs` has it.
  uint32_t result_count = 0;
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
