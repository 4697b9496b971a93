// The memory that a compiled program runs in.
#pragma once

#include <cstdint>

namespace plait::compile {

// Guarded memory is slow, and finds reads and writes outside of what a step was given.
struct ArenaOptions {
  bool is_guarded = false;
  int64_t shift = 0;  // in bytes; results must not depend on it
};

}  // namespace plait::compile
