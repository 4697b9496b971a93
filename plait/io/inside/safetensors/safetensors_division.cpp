#include "plait/io/inside/safetensors/safetensors_division.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/utf8.h"

namespace plait {
namespace {

void check_text(std::string_view what, const std::string& text) {
  if (!is_valid_utf8(text)) throw ValueError("{} {} is not UTF-8", what, in_quotes(text));
}

void check_metadata(const std::optional<SafetensorsMetadata>& metadata) {
  if (!metadata) return;
  for (const auto& [name, value] : *metadata) {
    check_text("the name of metadata", name);
    check_text(fmt::format("the metadata {},", in_quotes(name)), value);
  }
}

void check_arrays(const ArraysByName& arrays) {
  for (const auto& [name, array] : arrays) {
    if (!array) throw ValueError("the array to save as {} is empty", in_quotes(name));
    check_text("the name of a tensor,", name);
    if (name == "__metadata__") throw ValueError("a tensor cannot be named {}", in_quotes(name));
  }
}

int64_t byte_count_of(const Array& array) { return array.element_count() * array.element_size(); }

}  // namespace

void check_for_safetensors(const ArraysByName& arrays,
                           const std::optional<SafetensorsMetadata>& metadata) {
  check_arrays(arrays);
  check_metadata(metadata);
}

std::vector<ArraysByName> divided_into_shards(const ArraysByName& arrays, int64_t largest) {
  std::vector<ArraysByName> shards;
  ArraysByName current;
  int64_t bytes = 0;
  for (const auto& [name, array] : arrays) {
    const int64_t size = byte_count_of(array);
    if (size > largest) {
      shards.push_back({{name, array}});
      continue;
    }
    if (size > largest - bytes) {
      shards.push_back(std::exchange(current, {}));
      bytes = 0;
    }
    current.emplace(name, array);
    bytes += size;
  }
  if (!current.empty() || shards.empty()) shards.push_back(std::move(current));
  return shards;
}

std::string safetensors_index(const std::vector<ArraysByName>& shards,
                              const std::vector<std::string>& files) {
  int64_t bytes = 0;
  std::map<std::string, std::string> places;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (const auto& [name, array] : shards[i]) {
      bytes += byte_count_of(array);
      places[name] = std::filesystem::path(files[i]).filename().string();
    }
  }
  std::string text = fmt::format("{{\n  \"metadata\": {{\n    \"total_size\": {}\n  }},\n", bytes);
  text += "  \"weight_map\": {";
  const char* before = "\n";
  for (const auto& [name, file] : places) {
    text += fmt::format("{}    {}: {}", std::exchange(before, ",\n"), json_string(name),
                        json_string(file));
  }
  return text + "\n  }\n}\n";
}

}  // namespace plait
