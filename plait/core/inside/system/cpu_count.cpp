#include "plait/core/inside/system/cpu_count.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>
#include <vector>

#include <sched.h>

#include "plait/core/inside/system/control_groups.h"

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

std::optional<int> quota_of(const ControlGroup& group) {
  int64_t quota = 0, period = 0;
  if (group.version_2) {  // "150000 100000", or "max 100000", which fails to parse
    std::ifstream(group.folder + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(group.folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(group.folder + "/cpu.cfs_period_us") >> period;
  }
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>(std::min<int64_t>((quota - 1) / period + 1, 1 << 20));
}

}  // namespace

std::optional<int> cpu_quota(const std::string& root) {
  std::optional<int> least;
  for_each_control_group(root, "cpu", [&](const ControlGroup& group) {
    if (const auto quota = quota_of(group)) least = std::min(least.value_or(*quota), *quota);
  });
  return least;
}

int available_cpu_count() {
  const int cpus = std::max(schedulable_cpus(), 1);
  return std::min(cpus, cpu_quota().value_or(cpus));
}

}  // namespace plait
