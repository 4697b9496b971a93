// Tensors divided into shards, and what is checked before any of them is written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plait/io/safetensors.h"

namespace plait {

using ArraysByName = std::map<std::string, Array>;

// ValueError for an empty array, or a name or text that is not UTF-8.
void check_for_safetensors(const ArraysByName& arrays,
                           const std::optional<SafetensorsMetadata>& metadata);

// In the order of names; a shard ends before the tensor that would exceed the largest number of
// bytes, or after one that is larger alone. At least one shard.
std::vector<ArraysByName> divided_into_shards(const ArraysByName& arrays, int64_t largest);

// The index of these shards, which are in files of these names.
std::string safetensors_index(const std::vector<ArraysByName>& shards,
                              const std::vector<std::string>& files);

}  // namespace plait
