// The ranks of a new group, as they tell each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "plait/comm/group.h"

namespace plait::dist {

struct Peer {
  pid_t process = 0;
  std::string host;    // host_identity()
  std::string engine;  // that its options name
};

// By rank, when all have come. `store` is that of the group alone. DistError that names one that
// has not come within the timeout.
// From time to time `expect_present` is called for each that has not come; it may throw.
std::vector<Peer> meet_peers(const GroupOptions& options, Store& store,
                             const std::function<void(int rank)>& expect_present);
bool are_on_one_host(const std::vector<Peer>& peers);
// DistError if one joins with another engine than this rank.
void expect_one_engine(const std::vector<Peer>& peers, int rank);
// How many ranks before this one are on its host.
int place_on_host(const std::vector<Peer>& peers, int rank);
// Divides the threads that compute among the processes of this host, unless their number is set.
void divide_threads(const std::vector<Peer>& peers);

}  // namespace plait::dist
