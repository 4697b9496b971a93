// The engines of groups by their names.
#pragma once

#include <memory>
#include <string_view>

#include "plait/comm/group.h"
#include "plait/comm/inside/engine.h"

namespace plait::dist {

// The engine that "auto" stands for; other names as they are.
std::string_view engine_for(std::string_view name, bool is_one_host);

// Returns when all ranks have joined, which are on one host or not. `store` is that of the group
// alone; `place_on_host` counts the ranks of this host before this one. ValueError for a name that
// is none of an engine, DistError for one that is not in this build.
std::unique_ptr<Engine> make_engine(const GroupOptions& options, Store& store, bool is_one_host,
                                    int place_on_host);

}  // namespace plait::dist
