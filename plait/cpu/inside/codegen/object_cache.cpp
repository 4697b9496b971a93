#include "plait/cpu/inside/codegen/object_cache.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace plait::cpu {

// The content of a file: the length of the names, the names (one per line), the object.

std::optional<CachedObject> read_cached_object(const Hash128& key) {
  const std::optional<std::string> content = read_cached(key, "o");
  uint64_t length = 0;
  if (!content || content->size() < sizeof length) return std::nullopt;
  std::memcpy(&length, content->data(), sizeof length);
  if (length > content->size() - sizeof length) return std::nullopt;
  CachedObject object;
  std::string_view names = std::string_view(*content).substr(sizeof length, length);
  while (!names.empty()) {
    const size_t end = names.find('\n');
    object.outside_names.emplace_back(names.substr(0, end));
    names.remove_prefix(end + 1);
  }
  const auto bytes = std::as_bytes(std::span(*content).subspan(sizeof length + length));
  object.bytes.assign(bytes.begin(), bytes.end());
  return object;
}

void write_cached_object(const Hash128& key, const CachedObject& object) {
  std::string names;
  for (const std::string& name : object.outside_names) names += name + '\n';
  const uint64_t length = names.size();
  std::string content(reinterpret_cast<const char*>(&length), sizeof length);
  content += names;
  content.append(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
  write_cached(key, "o", content);
}

}  // namespace plait::cpu
