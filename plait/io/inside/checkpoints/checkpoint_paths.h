// A folder of checkpoints: which files are there, and which are left.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plait/io/checkpoints.h"

namespace plait {

// The file of each step: its tensors, or its index. Nothing is opened. IoError if the folder cannot
// be read.
std::map<int64_t, std::string> checkpoint_paths(const std::string& folder);

// Returns when the names of the files in the folder are on the disk.
void sync_folder(const std::string& folder);

// Removes the temporary files of processes that were killed. Nobody else may write.
void remove_unfinished_checkpoints(const std::string& folder);
// Removes shards that no index names.
void remove_unused_shards(const std::string& folder);
void remove_checkpoint_file(const std::string& folder, const std::string& name);
// Removes all files of a step.
void remove_checkpoint(const std::string& folder, int64_t step);

// The best steps by the metric of the options, the best first. Of equal ones the earlier is better;
// a NaN is not among them.
std::vector<int64_t> best_steps(const std::map<int64_t, Metrics>& steps,
                                const CheckpointFolderOptions& options);
// The steps that a rule of the options keeps.
std::set<int64_t> kept_steps(const std::map<int64_t, Metrics>& steps,
                             const CheckpointFolderOptions& options);

}  // namespace plait
