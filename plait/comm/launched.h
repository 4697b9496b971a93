// Ranks that a launcher has started: plait run, torchrun, mpirun or srun. Their environment
// variables say who they are, and where they meet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plait/comm/group.h"

namespace plait::dist {

// The group of all ranks: the store, the rank and the size are those of the variables RANK,
// WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or of those that mpirun and srun set. ValueError names
// one that is missing.
std::shared_ptr<Group> join_launched(const GroupOptions& options = {});

// The name of the variable that is set for this one: itself, or for RANK, WORLD_SIZE and LOCAL_RANK
// that of another launcher.
std::optional<std::string> launch_variable(std::string_view name);

struct Place {
  std::string host;
  int port = 0;
};
// Where the ranks of a job of mpirun on one host, or of srun, meet without MASTER_PORT: the number
// of the job decides the port.
std::optional<Place> place_of_job();

}  // namespace plait::dist
