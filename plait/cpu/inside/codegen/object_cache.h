// Cache of machine code in a folder (the setting `cache`), shared by processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plait/core/hash.h"
#include "plait/core/settings.h"

namespace plait::setting {
extern Setting<std::string> kCache;
}

namespace plait::cpu {

struct CachedObject {
  std::vector<std::byte> bytes;
  std::vector<std::string> outside_names;  // external functions that it calls
};

// The folder in use; empty if the cache is disabled.
std::string object_cache_folder();

// Returns nothing for an entry that is missing, damaged or has another key. Safe for concurrent
// processes: files are created atomically.
std::optional<CachedObject> read_cached_object(const Hash128& key);
// Logs if the folder is not writable.
void write_cached_object(const Hash128& key, const CachedObject& object);

// Removes the least recently used entries until at most this many bytes remain. Each process does
// so at its first write, with kMostCachedBytes.
inline constexpr int64_t kMostCachedBytes = int64_t{1} << 30;
void trim_object_cache(int64_t most_bytes);

}  // namespace plait::cpu
