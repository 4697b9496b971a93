#include "plait/core/inside/system/available_memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "plait/core/inside/system/control_groups.h"

namespace plait {
namespace {

// The number after a name at the beginning of a line: "MemAvailable:   123 kB".
std::optional<int64_t> number_in(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    int64_t number = 0;
    if (word == name && file >> number) return number;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return std::nullopt;
}

std::optional<int64_t> number_in(const std::string& path) {
  int64_t number = 0;
  if (std::ifstream(path) >> number) return number;  // "max" fails to parse
  return std::nullopt;
}

// The usage includes file pages, which can be reclaimed.
std::optional<int64_t> left_in(const ControlGroup& group) {
  const bool v2 = group.version_2;
  const auto most = number_in(group.folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  const auto used = number_in(group.folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  if (!most || !used) return std::nullopt;
  const auto files =
      number_in(group.folder + "/memory.stat", v2 ? "inactive_file" : "total_inactive_file");
  return std::max<int64_t>(*most - *used + files.value_or(0), 0);
}

}  // namespace

int64_t available_memory(const std::string& root) {
  int64_t least = std::numeric_limits<int64_t>::max();
  if (const auto kilobytes = number_in(root + "/proc/meminfo", "MemAvailable:")) {
    least = *kilobytes * 1024;
  }
  for_each_control_group(root, "memory", [&](const ControlGroup& group) {
    if (const auto left = left_in(group)) least = std::min(least, *left);
  });
  return least;
}

}  // namespace plait
