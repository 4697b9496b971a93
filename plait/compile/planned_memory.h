// How much memory a compiled program needs, before it runs.
#pragma once

#include <cstdint>

#include "plait/compile/compiler.h"
#include "plait/core/sizes/dim.h"

namespace plait::compile {

// Bytes. Work memory of operations (packed matrices, partial sums of threads) is known only when
// they run, and is not counted.
struct PlannedMemory {
  int64_t arguments = 0;
  int64_t results = 0;
  int64_t temporaries = 0;
  // False if sizes depend on data, or functions call themselves: what these need counts as 0.
  bool is_complete = true;

  int64_t peak() const { return arguments + results + temporaries; }
};

// ValueError for a program with symbolic sizes without the size of a symbol.
PlannedMemory planned_memory(const Compiled& compiled, const SymbolMap<int64_t>& sizes = {});

}  // namespace plait::compile
