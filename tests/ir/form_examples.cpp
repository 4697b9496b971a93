#include "tests/ir/form_examples.h"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "tests/support/files.h"

namespace plait::ir {
namespace {

std::vector<std::string> texts(bool malformed) {
  const std::filesystem::path folder = std::string(PLAIT_SOURCE_DIR) + "/tests/fuzz/corpus/text";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    // Programs in subfolders use other primitives.
    if (entry.is_regular_file() && name.starts_with("malformed") == malformed) {
      paths.push_back(entry.path());
    }
  }
  if (paths.empty()) throw std::runtime_error("no programs in " + folder.string());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> found;
  for (const auto& path : paths) found.push_back(text_of_file(path));
  return found;
}

}  // namespace

std::vector<std::string> form_examples() { return texts(false); }
std::vector<std::string> malformed_forms() { return texts(true); }

}  // namespace plait::ir
