// The mesh of the ranks of a group, for shard_map (transform/shard_map.h).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plait/comm/group.h"
#include "plait/transform/shard_map.h"

namespace plait::dist {

// The ranks of the group along an axis. The group lives as long as the result.
std::shared_ptr<Communicator> communicator_of(std::shared_ptr<Group> group);

// Rank r of the group is at the place r of the mesh, of which the last axis counts first. A call of
// all ranks: they make a group for each axis, if there are several. The product of the sizes is
// that of the group.
Mesh mesh_of(std::shared_ptr<Group> group,
             const std::vector<std::pair<std::string, int64_t>>& axes);

}  // namespace plait::dist
