// Lets another language that calls Plait report its own source lines.
#pragma once

#include "plait/core/location.h"

namespace plait {

// Sets the function that Location::of_caller() calls first. It returns an unknown location if that
// language is not on the stack of this thread; it must not throw.
void set_caller_source(Location (*source)());

}  // namespace plait
