#include "plait/io/inside/checkpoints/known_checkpoints.h"

#include <vector>

#include <fmt/ranges.h>
#include <sys/stat.h>

#include "plait/core/error.h"
#include "plait/core/log.h"
#include "plait/io/inside/checkpoints/checkpoint_files.h"
#include "plait/io/inside/checkpoints/checkpoint_paths.h"

namespace plait {

std::map<int64_t, Metrics> KnownCheckpoints::steps() {
  const std::map<int64_t, std::string> paths = checkpoint_paths(folder_);
  std::map<int64_t, Metrics> found;
  for (const auto& [step, path] : paths) {
    if (const auto& metrics = read_metrics(step, path)) found.emplace(step, *metrics);
  }
  std::erase_if(known_, [&](const auto& each) { return !paths.contains(each.first); });
  return found;
}

const std::optional<Metrics>& KnownCheckpoints::read_metrics(int64_t step,
                                                             const std::string& path) {
  struct stat status{};
  ::stat(path.c_str(), &status);
  const int64_t written =
      int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + int64_t{status.st_mtim.tv_nsec};
  Known& known = known_[step];
  if (known.path == path && known.size == status.st_size && known.written == written) {
    return known.metrics;
  }
  known = {path, status.st_size, written};
  try {
    known.metrics = describe_checkpoint(path).metrics;
  } catch (const Error& error) {
    log(LogArea::io, LogLevel::warning, "{}; it is not used", error.message());
  }
  return known.metrics;
}

std::string KnownCheckpoints::path_of(int64_t step) const {
  const std::map<int64_t, std::string> paths = checkpoint_paths(folder_);
  const auto found = paths.find(step);
  if (found != paths.end()) return found->second;
  std::vector<int64_t> steps;
  for (const auto& [each, path] : paths) steps.push_back(each);
  throw KeyError(
      "unknown checkpoint of step {} in {}; {}", step, folder_,
      steps.empty() ? "there are none" : fmt::format("the steps are {}", fmt::join(steps, ", ")))
      .at(Location::of_caller());
}

}  // namespace plait
