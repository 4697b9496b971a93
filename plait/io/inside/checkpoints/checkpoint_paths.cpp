#include "plait/io/inside/checkpoints/checkpoint_paths.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/function_ref.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/checkpoints/checkpoint_names.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/json.h"

namespace plait {
namespace {

namespace fs = std::filesystem;
using FileKind = CheckpointFileKind;

struct FoundFile {
  std::string name;
  CheckpointFileName meaning;
};

template <class Work>
auto as_io_error(const std::string& folder, Work work) {
  try {
    return work();
  } catch (const fs::filesystem_error& error) {
    throw IoError("the folder {}: {}", folder, error.code().message());
  }
}

std::vector<FoundFile> checkpoint_files(const std::string& folder) {
  return as_io_error(folder, [&] {
    std::vector<FoundFile> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      std::string name = entry.path().filename().string();
      if (const auto meaning = parse_checkpoint_name(name)) {
        files.push_back({std::move(name), *meaning});
      }
    }
    return files;
  });
}

// The files that an index names; nothing if it cannot be read.
std::optional<std::set<std::string>> shards_of_index(const std::string& path) {
  std::set<std::string> names;
  try {
    const InputFile file(path);
    const Json index = Json::parse(characters_of(file.bytes()));
    for (const auto& [tensor, shard] : index.at("weight_map").as<Json::Object>("weight_map")) {
      names.insert(shard.as<std::string>(tensor));
    }
  } catch (const Error&) {
    return std::nullopt;
  }
  return names;
}

bool is_newer(const std::string& path, const std::string& other) {
  std::error_code ignored;
  return fs::last_write_time(path, ignored) >= fs::last_write_time(other, ignored);
}

}  // namespace

// If a process was killed when it replaced a file by shards, or the reverse, both are there.
std::map<int64_t, std::string> checkpoint_paths(const std::string& folder) {
  std::map<int64_t, std::string> paths;
  for (const auto& [name, meaning] : checkpoint_files(folder)) {
    if (meaning.kind != FileKind::whole && meaning.kind != FileKind::index) continue;
    const std::string path = fmt::format("{}/{}", folder, name);
    const auto [place, is_new] = paths.emplace(meaning.step, path);
    if (!is_new && is_newer(path, place->second)) place->second = path;
  }
  return paths;
}

void sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int status = descriptor < 0 ? -1 : ::fsync(descriptor);
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  if (status == 0 || (descriptor >= 0 && error == EINVAL)) return;  // some file systems cannot
  throw IoError("cannot write into {}: {}", folder, std::generic_category().message(error));
}

void remove_checkpoint_file(const std::string& folder, const std::string& name) {
  as_io_error(folder, [&] { return fs::remove(fs::path(folder) / name); });
}

void remove_unfinished_checkpoints(const std::string& folder) {
  for (const auto& [name, meaning] : checkpoint_files(folder)) {
    if (meaning.kind == FileKind::unfinished) remove_checkpoint_file(folder, name);
  }
}

// The shards of an index that cannot be read are left, so that it can be repaired.
void remove_unused_shards(const std::string& folder) {
  std::set<std::string> used;
  std::set<int64_t> unknown;
  const std::vector<FoundFile> files = checkpoint_files(folder);
  for (const auto& [name, meaning] : files) {
    if (meaning.kind != FileKind::index) continue;
    if (const auto shards = shards_of_index(fmt::format("{}/{}", folder, name))) {
      used.insert(shards->begin(), shards->end());
    } else {
      unknown.insert(meaning.step);
    }
  }
  for (const auto& [name, meaning] : files) {
    if (meaning.kind != FileKind::shard || unknown.contains(meaning.step)) continue;
    if (!used.contains(name)) remove_checkpoint_file(folder, name);
  }
}

void remove_checkpoint(const std::string& folder, int64_t step) {
  remove_checkpoint_file(folder,
                         checkpoint_index_name(step));  // first, so that no index lacks its shards
  for (const auto& [name, meaning] : checkpoint_files(folder)) {
    if (meaning.step == step && meaning.kind != FileKind::unfinished)
      remove_checkpoint_file(folder, name);
  }
}

std::vector<int64_t> best_steps(const std::map<int64_t, Metrics>& steps,
                                const CheckpointFolderOptions& options) {
  std::vector<std::pair<double, int64_t>> found;  // the least is the best
  for (const auto& [step, metrics] : steps) {
    const auto metric = metrics.find(options.best);
    if (metric == metrics.end() || std::isnan(metric->second)) continue;
    found.emplace_back(options.best_is == BestIs::least ? metric->second : -metric->second, step);
  }
  std::ranges::sort(found);
  std::vector<int64_t> best;
  for (const auto& [metric, step] : found) best.push_back(step);
  return best;
}

std::set<int64_t> kept_steps(const std::map<int64_t, Metrics>& steps,
                             const CheckpointFolderOptions& options) {
  std::set<int64_t> kept;
  int64_t left = options.keep_last == 0 ? static_cast<int64_t>(steps.size()) : options.keep_last;
  for (auto each = steps.rbegin(); each != steps.rend() && left > 0; ++each, --left) {
    kept.insert(each->first);
  }
  for (const auto& [step, metrics] : steps) {
    if (options.keep_every > 0 && step % options.keep_every == 0) kept.insert(step);
  }
  if (options.best.empty()) return kept;
  const std::vector<int64_t> best = best_steps(steps, options);
  for (size_t i = 0; i < best.size() && static_cast<int64_t>(i) < options.keep_best; ++i) {
    kept.insert(best[i]);
  }
  return kept;
}

}  // namespace plait
