// A loop nest with its machine code, and what its calls need to know of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/compile/inside/nests/nest.h"
#include "plait/cpu/inside/codegen/compiled_nest.h"

namespace plait::cpu {

struct FusedNest {
  FusedNest(const compile::Nest& nest, const CompiledNest& compiled);

  bool is_accumulated(size_t result) const {
    return result < results.size() && results[result].reduction != ir::Reduction::none;
  }
  bool accumulates() const;

  CompiledNest code;
  uint32_t grouped = 0;  // the loops from here on are within a group
  bool may_cut_columns = false;
  int64_t cost = 1;  // operations at each point
  struct Result {
    ir::Reduction reduction;
    DType dtype;  // in which it is accumulated
  };
  std::vector<Result> results;
};

}  // namespace plait::cpu
