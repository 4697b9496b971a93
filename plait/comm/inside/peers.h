// The ranks of a new group, as they tell each other.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "plait/comm/group.h"

namespace plait::dist {

struct Peer {
  pid_t process = 0;
  std::string host;  // host_identity()
};

// By rank, when all have come. `store` is that of the group alone. DistError that names one that
// has not come within the timeout.
std::vector<Peer> meet_peers(const GroupOptions& options, Store& store);
bool are_on_one_host(const std::vector<Peer>& peers);
// Divides the threads that compute among the processes of this host, unless their number is set.
void divide_threads(const std::vector<Peer>& peers);

}  // namespace plait::dist
