#include "plait/io/inside/safetensors/safetensors_shard_names.h"

#include <filesystem>
#include <set>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSafetensorsEnding = ".safetensors";
constexpr const char* kIndexAddition = ".index.json";

// Removes five or more digits from the beginning of the text; false if it begins otherwise.
bool take_number(std::string_view& text) {
  size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  text.remove_prefix(digits);
  return digits >= 5;
}

bool take_text(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace

SafetensorsShardNames::SafetensorsShardNames(const std::string& path) : stem_(path) {
  if (!path.ends_with(kSafetensorsEnding)) {
    throw ValueError("{}: the name of a file with shards ends with {}", path, kSafetensorsEnding);
  }
  stem_.resize(path.size() - kSafetensorsEnding.size());
}

std::string SafetensorsShardNames::index() const {
  return fmt::format("{}{}{}", stem_, kSafetensorsEnding, kIndexAddition);
}

std::string SafetensorsShardNames::shard(size_t number, size_t count) const {
  return fmt::format("{}-{:05d}-of-{:05d}{}", stem_, number + 1, count, kSafetensorsEnding);
}

bool SafetensorsShardNames::is_ours(std::string_view file) const {
  if (!take_text(file, fs::path(stem_).filename().string())) return false;
  if (file == kSafetensorsEnding || file == std::string(kSafetensorsEnding) + kIndexAddition)
    return true;
  return take_text(file, "-") && take_number(file) && take_text(file, "-of-") &&
         take_number(file) && file == kSafetensorsEnding;
}

void SafetensorsShardNames::remove_others(const std::vector<std::string>& kept) const {
  std::set<std::string> kept_names;
  for (const std::string& path : kept) kept_names.insert(fs::path(path).filename().string());
  const fs::path folder = fs::path(stem_).parent_path();
  try {
    std::vector<fs::path> others;
    for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder)) {
      const std::string name = entry.path().filename().string();
      if (is_ours(name) && !kept_names.contains(name)) others.push_back(entry.path());
    }
    for (const fs::path& file : others) fs::remove(file);
  } catch (const fs::filesystem_error& error) {
    throw IoError("cannot remove earlier files of {}: {}", stem_, error.code().message());
  }
}

}  // namespace plait
