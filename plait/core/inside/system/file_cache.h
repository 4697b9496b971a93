// Cache of compiled code in a folder (the setting `cache`), shared by processes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plait/core/hash.h"
#include "plait/core/settings.h"

namespace plait {

namespace setting {
extern Setting<std::string> kCache;
}

// The folder in use; empty if the cache is disabled.
std::string cache_folder();

// The content that was written under this key; `ending` is that of the file's name ("o", "cubin").
// Returns nothing for an entry that is missing, damaged or has another key. Safe for concurrent
// processes: files are created atomically.
std::optional<std::string> read_cached(const Hash128& key, std::string_view ending);
// Logs if the folder is not writable.
void write_cached(const Hash128& key, std::string_view ending, std::string_view content);

// Removes the least recently used entries until at most this many bytes remain. Each process does
// so at its first write, with kMostCachedBytes.
inline constexpr int64_t kMostCachedBytes = int64_t{1} << 30;
void trim_cache(int64_t most_bytes);

}  // namespace plait
