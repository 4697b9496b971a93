// How another language, whose code calls into Plait, tells its own lines.
#pragma once

#include "plait/core/location.h"

namespace plait {

// Whom Location::of_caller() asks first. Gives an unknown location where that language is not on
// the stack of this thread; must not throw.
void set_caller_source(Location (*source)());

}  // namespace plait
