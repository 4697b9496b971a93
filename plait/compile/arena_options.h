// Options for the memory of a compiled program.
#pragma once

#include <cstdint>

#include "plait/core/settings.h"

namespace plait {

enum class Arena : uint8_t { plain, guarded };

namespace setting {
extern Setting<Arena> kArena;
}

}  // namespace plait

namespace plait::compile {

// Guarded memory is slow. It detects reads and writes outside of the arrays of a step.
struct ArenaOptions {
  bool is_guarded = false;
  int64_t shift = 0;  // in bytes; results must not depend on it
};

}  // namespace plait::compile
