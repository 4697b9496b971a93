// Random numbers within branches and loops of traces: what is drawn there is made of a key that is
// drawn outside, so that it is the same when a derivative computes it again.
#pragma once

#include "plait/transform/staged.h"

namespace plait {

// Whether a function of the program draws from the default stream.
bool draws_keys(const ir::Program& program);

// The function with a key for its last argument, of which all that it draws is made.
TensorFunction with_key(const StagedFunction& function);

}  // namespace plait
