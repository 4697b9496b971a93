// The wire of Gloo: TCP between hosts.
#pragma once

#include <memory>

#include "plait/comm/inside/wires/wire.h"
#include "plait/comm/store.h"

namespace plait::dist {

// True if this build has Gloo.
bool has_gloo();

// Returns when all ranks are connected, which share the store. They listen at the address of the
// network interface that GLOO_SOCKET_IFNAME names, else at `host`.
std::unique_ptr<Wire> make_gloo_wire(Store& store, int rank, int size, const std::string& host,
                                     Duration timeout);

}  // namespace plait::dist
