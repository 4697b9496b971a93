// The host of this process, as other ranks know it.
#pragma once

#include <string>

#include "plait/comm/store.h"

namespace plait::dist {

// The same for processes that reach each other's memory and are counted as one host.
std::string host_identity();
// True if so many threads of this host can run at the same time. Slow: it reads files.
bool has_cores_for(int threads);
// An address of this host at which the other users of the store reach it, if they are on other
// hosts.
std::string address_towards(const Store& store);

}  // namespace plait::dist
