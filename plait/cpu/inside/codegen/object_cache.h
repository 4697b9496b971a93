// Cache of machine code, in the folder of core's file cache.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plait/core/inside/system/file_cache.h"

namespace plait::cpu {

struct CachedObject {
  std::vector<std::byte> bytes;
  std::vector<std::string> outside_names;  // external functions that it calls
};

// As read_cached and write_cached.
std::optional<CachedObject> read_cached_object(const Hash128& key);
void write_cached_object(const Hash128& key, const CachedObject& object);

}  // namespace plait::cpu
