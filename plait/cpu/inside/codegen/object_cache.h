// Objects with machine code, kept in a folder from one process to the next (the setting `cache`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plait/core/hash.h"

namespace plait::cpu {

struct CachedObject {
  std::vector<std::byte> bytes;
  std::vector<std::string> outside_names;  // what it calls that is no part of it
};

// The folder in use; empty where nothing is kept.
std::string object_cache_folder();

// What is missing, damaged or of another key is nothing. Processes may read and write at once: a
// file comes to be in one step.
std::optional<CachedObject> read_cached_object(const Hash128& key);
// A folder that cannot be written to is a line in the log.
void write_cached_object(const Hash128& key, const CachedObject& object);

// Removes what was longest not used, until at most so many bytes are left. A process does so when
// it first writes, of more than kMostCachedBytes.
inline constexpr int64_t kMostCachedBytes = int64_t{1} << 30;
void trim_object_cache(int64_t most_bytes);

}  // namespace plait::cpu
