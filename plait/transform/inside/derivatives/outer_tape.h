#pragma once

#include "plait/core/location.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

// Ends jit's recording when host code uses a tape outside of the function: gradients that are
// accumulated there are no results of the function, so they cannot be recorded.
struct UsesOuterTape : Unwinding {
  explicit UsesOuterTape(Location used) : place(used) {}
  Location place;
};

}  // namespace plait
