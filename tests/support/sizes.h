// Symbolic sizes.
#pragma once

#include "plait/core/sizes/dim.h"

namespace plait {

inline const Dim k = Dim::symbol("k"), m = Dim::symbol("m"), n = Dim::symbol("n");

}  // namespace plait
