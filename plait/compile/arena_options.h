// Options for the memory of a compiled program.
#pragma once

#include <cstdint>

namespace plait::compile {

// Guarded memory is slow. It detects reads and writes outside of the arrays of a step.
struct ArenaOptions {
  bool is_guarded = false;
  int64_t shift = 0;  // in bytes; results must not depend on it
};

}  // namespace plait::compile
