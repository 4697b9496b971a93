// The files of one checkpoint.
#pragma once

#include <cstdint>
#include <string>

#include "plait/io/checkpoints.h"

namespace plait {

// The name of the tensor that has the bytes of the program.
inline constexpr const char* kProgramTensor = "plait.program";

// Writes a checkpoint into the folder, and returns when it is on the disk. An earlier one of its
// step is replaced when the new one is complete.
void write_checkpoint(const std::string& folder, const Checkpoint& checkpoint,
                      int64_t largest_shard);

// From the file of a checkpoint, or its index. ParseError if it is damaged. The description has no
// tensors: sizes and headers are checked, the tensors are not read.
Checkpoint read_checkpoint(const std::string& path);
Checkpoint describe_checkpoint(const std::string& path);

}  // namespace plait
