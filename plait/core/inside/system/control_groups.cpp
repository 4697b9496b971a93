#include "plait/core/inside/system/control_groups.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include <fmt/core.h>

namespace plait {
namespace {

// A mount point of a hierarchy, and the group mounted there.
struct Mount {
  std::string path, group;
};

// True for "cpu" in "cpu,cpuacct".
bool lists(std::string_view names, std::string_view wanted) {
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    if (names.substr(0, comma) == wanted) return true;
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return false;
}

// The format of a line: id parent device root mount-point options tags… - type source
// super-options.
std::vector<Mount> mounts_of(const std::string& root, bool version_2, std::string_view controller) {
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
    if (found_type != (version_2 ? "cgroup2" : "cgroup")) continue;
    if (!version_2 && !lists(super_options, controller)) continue;
    mounts.push_back(mount);
  }
  return mounts;
}

// The group of this process in the hierarchy of the controller. The format of a line:
// id:controllers:group.
std::optional<std::string> group_of_process(const std::string& root, bool version_2,
                                            std::string_view controller) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : lists(controllers, controller)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

// Visits a group and its ancestors up to the mounted one.
void visit_upwards(const std::string& root, const Mount& mount, std::string group, bool version_2,
                   FunctionRef<void(const ControlGroup&)> visit) {
  if (mount.group != "/" && group.starts_with(mount.group)) group.erase(0, mount.group.size());
  for (;;) {
    if (group == "/") group.clear();
    visit({fmt::format("{}{}{}", root, mount.path, group), version_2});
    if (group.empty()) return;
    const size_t slash = group.rfind('/');
    group.erase(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

void for_each_control_group(const std::string& root, std::string_view controller,
                            FunctionRef<void(const ControlGroup&)> visit) {
  for (const bool version_2 : {false, true}) {
    const auto group = group_of_process(root, version_2, controller);
    if (!group) continue;
    for (const Mount& mount : mounts_of(root, version_2, controller)) {
      visit_upwards(root, mount, *group, version_2, visit);
    }
  }
}

}  // namespace plait
