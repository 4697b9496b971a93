// The engines of groups by their names.
#pragma once

#include <memory>

#include "plait/comm/group.h"
#include "plait/comm/inside/engine.h"

namespace plait::dist {

// Returns when all ranks have joined, which are on one host or not. `store` is that of the group
// alone. ValueError for a name that is none of an engine, DistError for one that is not in this
// build.
std::unique_ptr<Engine> make_engine(const GroupOptions& options, Store& store, bool is_one_host);

}  // namespace plait::dist
