// Random well-typed programs over the tests' own primitives.
#pragma once

#include <cstdint>

#include "plait/ir/program.h"

namespace plait::ir {

// The entry takes a scalar f64[], a vector f64[n] and a bool[], and returns a scalar and a vector.
// The same seed gives the same program; `size` is the approximate number of instructions of each
// function.
Program random_program(uint64_t seed, int size);

}  // namespace plait::ir
