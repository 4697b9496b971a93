#include <filesystem>
#include <memory>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/npy_array.h"
#include "plait/io/inside/safetensors/safetensors_header.h"
#include "plait/io/inside/safetensors/safetensors_shard_names.h"
#include "plait/io/inside/utf8.h"
#include "plait/io/safetensors.h"

namespace plait {
namespace {

using Arrays = std::map<std::string, Array>;
using Metadata = std::optional<SafetensorsMetadata>;

void check_text(std::string_view what, const std::string& text) {
  if (!is_valid_utf8(text)) throw ValueError("{} {} is not UTF-8", what, in_quotes(text));
}

void check_metadata(const Metadata& metadata) {
  if (!metadata) return;
  for (const auto& [name, value] : *metadata) {
    check_text("the name of metadata", name);
    check_text(fmt::format("the metadata {},", in_quotes(name)), value);
  }
}

void check_arrays(const Arrays& arrays) {
  for (const auto& [name, array] : arrays) {
    if (!array) throw ValueError("the array to save as {} is empty", in_quotes(name));
    check_text("the name of a tensor,", name);
    if (name == "__metadata__") throw ValueError("a tensor cannot be named {}", in_quotes(name));
  }
}

void write_file(const ByteSink& sink, const Arrays& arrays, const Metadata& metadata) {
  std::vector<SafetensorsTensor> tensors;
  for (const auto& [name, array] : arrays) tensors.push_back(safetensors_tensor(name, array));
  sink(bytes_of(std::string_view(place_safetensors(tensors, metadata))));
  for (const SafetensorsTensor& each : tensors) sink(bytes_of(arrays.at(each.name).contiguous()));
}

int64_t byte_count_of(const Array& array) { return array.element_count() * array.element_size(); }

// In the order of names; a shard ends before the tensor that would exceed it.
std::vector<Arrays> divided(const Arrays& arrays, int64_t largest) {
  std::vector<Arrays> shards;
  Arrays current;
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

std::string index_text(const std::vector<Arrays>& shards, const SafetensorsShardNames& names) {
  int64_t bytes = 0;
  std::map<std::string, std::string> places;
  for (size_t i = 0; i < shards.size(); ++i) {
    for (const auto& [name, array] : shards[i]) {
      bytes += byte_count_of(array);
      places[name] = std::filesystem::path(names.shard(i, shards.size())).filename().string();
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

void save_one(const std::string& path, const Arrays& arrays, const Metadata& metadata) {
  OutputFile file(path);
  write_file([&](std::span<const std::byte> bytes) { file.write(bytes); }, arrays, metadata);
  file.finish();
}

// All shards are written before the first of them is renamed.
void save_shards(const std::vector<Arrays>& shards, const SafetensorsShardNames& names,
                 const Metadata& metadata) {
  std::vector<std::unique_ptr<OutputFile>> files;
  for (size_t i = 0; i < shards.size(); ++i) {
    files.push_back(std::make_unique<OutputFile>(names.shard(i, shards.size())));
    write_file([&](std::span<const std::byte> bytes) { files.back()->write(bytes); }, shards[i],
               metadata);
  }
  OutputFile index(names.index());
  index.write(bytes_of(std::string_view(index_text(shards, names))));
  for (const auto& file : files) file->finish();
  index.finish();
}

}  // namespace

std::string save_safetensors(const std::string& path, const Arrays& arrays,
                             const SafetensorsOptions& options) {
  check_arrays(arrays);
  check_metadata(options.metadata);
  if (options.largest_shard < 0) {
    throw ValueError("largest_shard is {}, expected 0 or more", options.largest_shard);
  }
  if (options.largest_shard == 0) {
    save_one(path, arrays, options.metadata);
    return path;
  }
  const SafetensorsShardNames names(path);
  const std::vector<Arrays> shards = divided(arrays, options.largest_shard);
  if (shards.size() == 1) {
    save_one(path, arrays, options.metadata);
    names.remove_others({path});
    return path;
  }
  save_shards(shards, names, options.metadata);
  std::vector<std::string> written = {names.index()};
  for (size_t i = 0; i < shards.size(); ++i) written.push_back(names.shard(i, shards.size()));
  names.remove_others(written);
  return names.index();
}

std::vector<std::byte> write_safetensors(const Arrays& arrays, const Metadata& metadata) {
  check_arrays(arrays);
  check_metadata(metadata);
  std::vector<std::byte> file;
  write_file(
      [&](std::span<const std::byte> bytes) {
        file.insert(file.end(), bytes.begin(), bytes.end());
      },
      arrays, metadata);
  return file;
}

}  // namespace plait
