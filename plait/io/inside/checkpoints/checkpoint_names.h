// The names of the files of checkpoints: step-0000001000.safetensors, or
// step-0000001000.safetensors.index.json and shards,
// step-0000001000-1a2b3c4d-00001-of-00003.safetensors. The digits in the middle tell shards from
// those of an earlier checkpoint of the step, so that the index alone decides which of them are
// valid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plait {

std::string checkpoint_file_name(int64_t step);
std::string checkpoint_index_name(int64_t step);
std::string checkpoint_shard_name(int64_t step, uint32_t contents, size_t number, size_t count);

enum class CheckpointFileKind : uint8_t { whole, index, shard, unfinished };
struct CheckpointFileName {
  int64_t step = 0;
  CheckpointFileKind kind = CheckpointFileKind::whole;
};
// Nothing for the name of another file.
std::optional<CheckpointFileName> parse_checkpoint_name(std::string_view name);

}  // namespace plait
