#include "plait/core/cpu_count.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include <sched.h>

namespace plait {
namespace {

int schedulable_cpus() {
  for (size_t cpus = CPU_SETSIZE; cpus <= (size_t{1} << 20); cpus *= 2) {
    std::vector<cpu_set_t> set(cpus / CPU_SETSIZE);
    const size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) == 0) return CPU_COUNT_S(bytes, set.data());
    if (errno != EINVAL) break;
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Where a hierarchy of control groups is mounted, and which group stands at that place.
struct Mount {
  std::string path, group;
};

// "cpu" among "cpu,cpuacct".
bool lists(std::string_view names, std::string_view wanted) {
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    if (names.substr(0, comma) == wanted) return true;
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return false;
}

// A line reads: id parent device root mount-point options tags… - type source super-options.
std::vector<Mount> mounts_of(const std::string& root, std::string_view type) {
  std::vector<Mount> mounts;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string skipped, word, found_type, super_options;
    Mount mount;
    words >> skipped >> skipped >> skipped >> mount.group >> mount.path;
    while (words >> word && word != "-") {
    }
    words >> found_type >> skipped >> super_options;
    if (found_type != type) continue;
    if (type == "cgroup" && !lists(super_options, "cpu")) continue;
    mounts.push_back(mount);
  }
  return mounts;
}

// The group of this process in the hierarchy that governs CPU time. A line reads
// id:controllers:group.
std::optional<std::string> group_of_process(const std::string& root, bool version_2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : lists(controllers, "cpu")) return line.substr(second + 1);
  }
  return std::nullopt;
}

std::optional<int> whole_cpus(int64_t quota, int64_t period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>(std::min<int64_t>((quota - 1) / period + 1, 1 << 20));
}

std::optional<int> quota_in(const std::string& folder, bool version_2) {
  int64_t quota = 0, period = 0;
  if (version_2) {  // "150000 100000", or "max 100000", which is no number
    std::ifstream(folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return whole_cpus(quota, period);
}

// From the group of this process up to the one that is mounted.
std::optional<int> quota_below(const std::string& root, const Mount& mount, std::string group,
                               bool version_2) {
  if (mount.group != "/" && group.starts_with(mount.group)) group.erase(0, mount.group.size());
  std::optional<int> least;
  for (;;) {
    if (group == "/") group.clear();
    if (const auto quota = quota_in(root + mount.path + group, version_2)) {
      least = std::min(least.value_or(*quota), *quota);
    }
    if (group.empty()) return least;
    const size_t slash = group.rfind('/');
    group.erase(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

std::optional<int> cpu_quota(const std::string& root) {
  std::optional<int> least;
  for (const bool version_2 : {false, true}) {
    const auto group = group_of_process(root, version_2);
    if (!group) continue;
    for (const Mount& mount : mounts_of(root, version_2 ? "cgroup2" : "cgroup")) {
      if (const auto quota = quota_below(root, mount, *group, version_2)) {
        least = std::min(least.value_or(*quota), *quota);
      }
    }
  }
  return least;
}

int available_cpu_count() {
  const int cpus = std::max(schedulable_cpus(), 1);
  return std::min(cpus, cpu_quota().value_or(cpus));
}

}  // namespace plait
