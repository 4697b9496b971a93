// The loops of a nest: dimensions of its space, of which neighbours are merged where all strides
// are compatible.
#pragma once

#include "plait/compile/inside/nests/nest_space.h"

namespace plait::compile {

// From the nest's values and results, whose places are indices of the space, makes its loops, and
// turns the places into indices of the loops. False if no order of loops fits.
bool make_loops(const NestSpace& space, Nest& nest);

}  // namespace plait::compile
