#include "plait/cpu/inside/codegen/object_cache.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plait/core/log.h"

namespace plait {

namespace setting {
constinit Setting<std::string> kCache(
    {.name = "cache",
     .standard = "default",
     .description = "the folder for compiled code; off disables the cache, default is plait in "
                    "$XDG_CACHE_HOME or ~/.cache"});
}

namespace {
const ListedSettings cache_settings{&setting::kCache};
}

}  // namespace plait

namespace plait::cpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "plait object 1\n";
constexpr size_t kMostBytes = size_t{1} << 28;

// File format: magic, key, length of the names, hash of these and of what follows, names (one per
// line), object.
struct Header {
  char magic[16] = {};
  Hash128 key;
  uint64_t names_length = 0;
  Hash128 content;
};

Header header_of(const Hash128& key, std::string_view content, size_t names_length) {
  Hasher hasher;
  hasher.update(names_length);
  hasher.update(content);
  Header header{.key = key, .names_length = names_length, .content = hasher.finish()};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  return header;
}

bool is_same(const Header& a, const Header& b) {
  return std::memcmp(a.magic, b.magic, sizeof a.magic) == 0 && a.key == b.key &&
         a.content == b.content && a.names_length == b.names_length;
}

std::string path_of(const std::string& folder, const Hash128& key) {
  return fmt::format("{}/{}.o", folder, key.text());
}

// Code from a folder that others can write to cannot be trusted.
bool is_ours_alone(const std::string& folder) {
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0) return false;
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

void warn_once(const std::string& folder, std::string_view why) {
  static std::atomic<bool> warned = false;
  if (warned.exchange(true)) return;
  log(LogArea::compile, LogLevel::warning, "compiled code is not kept in {}: {}", folder, why);
}

bool is_usable(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    fs::create_directories(folder, error);
    if (!error) {
      fs::permissions(folder, fs::perms::owner_all, error);
    }
    if (error) {
      warn_once(folder, error.message());
      return false;
    }
  }
  if (is_ours_alone(folder)) return true;
  warn_once(folder, "other users may write to it, or own it");
  return false;
}

std::string names_of(const CachedObject& object) {
  std::string names;
  for (const std::string& name : object.outside_names) names += name + '\n';
  return names;
}

bool write_file(const std::string& path, const Header& header, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  return file.good();
}

}  // namespace

std::string object_cache_folder() {
  const std::string& folder = setting::kCache.get();
  if (folder != "default") return folder == "off" ? "" : folder;
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return cache + "/plait";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/plait";
  return "";
}

std::optional<CachedObject> read_cached_object(const Hash128& key) {
  const std::string folder = object_cache_folder();
  if (folder.empty()) return std::nullopt;
  std::ifstream file(path_of(folder, key), std::ios::binary);
  if (!file || !is_ours_alone(folder)) return std::nullopt;
  Header header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  std::string content(std::istreambuf_iterator<char>(file), {});
  if (content.size() > kMostBytes || header.names_length > content.size() ||
      !is_same(header, header_of(key, content, header.names_length))) {
    log(LogArea::compile, LogLevel::info, "{} is damaged, and is compiled again",
        path_of(folder, key));
    return std::nullopt;
  }
  CachedObject object;
  std::string_view names = std::string_view(content).substr(0, header.names_length);
  while (!names.empty()) {
    const size_t end = names.find('\n');
    object.outside_names.emplace_back(names.substr(0, end));
    names.remove_prefix(end + 1);
  }
  const auto bytes = std::as_bytes(std::span(content).subspan(header.names_length));
  object.bytes.assign(bytes.begin(), bytes.end());
  std::error_code ignored;  // trimming uses the time of last use
  fs::last_write_time(path_of(folder, key), fs::file_time_type::clock::now(), ignored);
  return object;
}

void trim_object_cache(int64_t most_bytes) {
  struct File {
    fs::file_time_type used;
    int64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  int64_t all = 0;
  std::error_code error;  // another process may have removed the file
  for (fs::directory_iterator i(object_cache_folder(), error), end; !error && i != end;
       i.increment(error)) {
    std::error_code gone;
    const File file{i->last_write_time(gone), static_cast<int64_t>(i->file_size(gone)), i->path()};
    if (gone) continue;
    files.push_back(file);
    all += file.bytes;
  }
  std::ranges::sort(files, {}, &File::used);
  for (const File& file : files) {
    if (all <= most_bytes) return;
    fs::remove(file.path, error);
    all -= file.bytes;
  }
}

void write_cached_object(const Hash128& key, const CachedObject& object) {
  const std::string folder = object_cache_folder();
  if (folder.empty() || !is_usable(folder)) return;
  static std::once_flag trimmed;
  std::call_once(trimmed, [] { trim_object_cache(kMostCachedBytes); });
  static std::atomic<uint64_t> number = 0;
  const std::string path = path_of(folder, key);
  const std::string temporary = fmt::format("{}.{}.{}", path, ::getpid(), number++);
  const std::string names = names_of(object);
  std::string content = names;
  content.append(reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size());
  std::error_code error;
  if (write_file(temporary, header_of(key, content, names.size()), content)) {
    fs::rename(temporary, path, error);
    if (!error) return;
  }
  warn_once(folder, error ? error.message() : "it cannot be written to");
  fs::remove(temporary, error);
}

}  // namespace plait::cpu
