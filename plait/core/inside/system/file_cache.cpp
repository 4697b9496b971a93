#include "plait/core/inside/system/file_cache.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
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

namespace fs = std::filesystem;

constexpr std::string_view kCacheMagic = "plait object 2\n";
constexpr size_t kMostEntryBytes = size_t{1} << 28;

// File format: this header, then the content.
struct CacheHeader {
  char magic[16] = {};
  Hash128 key;
  Hash128 content;
};

CacheHeader header_of(const Hash128& key, std::string_view content) {
  CacheHeader header{.key = key, .content = hash_of(content)};
  std::memcpy(header.magic, kCacheMagic.data(), kCacheMagic.size());
  return header;
}

bool is_same(const CacheHeader& a, const CacheHeader& b) {
  return std::memcmp(a.magic, b.magic, sizeof a.magic) == 0 && a.key == b.key &&
         a.content == b.content;
}

std::string cache_path(const std::string& folder, const Hash128& key, std::string_view ending) {
  return fmt::format("{}/{}.{}", folder, key.text(), ending);
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

bool write_entry(const std::string& path, const CacheHeader& header, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  return file.good();
}

}  // namespace

std::string cache_folder() {
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

std::optional<std::string> read_cached(const Hash128& key, std::string_view ending) {
  const std::string folder = cache_folder();
  if (folder.empty()) return std::nullopt;
  const std::string path = cache_path(folder, key, ending);
  std::ifstream file(path, std::ios::binary);
  if (!file || !is_ours_alone(folder)) return std::nullopt;
  CacheHeader header;
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return std::nullopt;
  std::string content(std::istreambuf_iterator<char>(file), {});
  if (content.size() > kMostEntryBytes || !is_same(header, header_of(key, content))) {
    log(LogArea::compile, LogLevel::info, "{} is damaged, and is compiled again", path);
    return std::nullopt;
  }
  std::error_code ignored;  // trimming uses the time of last use
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return content;
}

void trim_cache(int64_t most_bytes) {
  struct File {
    fs::file_time_type used;
    int64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  int64_t all = 0;
  std::error_code error;  // another process may have removed the file
  for (fs::directory_iterator i(cache_folder(), error), end; !error && i != end;
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

void write_cached(const Hash128& key, std::string_view ending, std::string_view content) {
  const std::string folder = cache_folder();
  if (folder.empty() || !is_usable(folder)) return;
  static std::once_flag trimmed;
  std::call_once(trimmed, [] { trim_cache(kMostCachedBytes); });
  static std::atomic<uint64_t> number = 0;
  const std::string path = cache_path(folder, key, ending);
  const std::string temporary = fmt::format("{}.{}.{}", path, ::getpid(), number++);
  std::error_code error;
  if (write_entry(temporary, header_of(key, content), content)) {
    fs::rename(temporary, path, error);
    if (!error) return;
  }
  warn_once(folder, error ? error.message() : "it cannot be written to");
  fs::remove(temporary, error);
}

}  // namespace plait
