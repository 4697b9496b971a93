#include <memory>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/npy_array.h"
#include "plait/io/inside/safetensors/safetensors_division.h"
#include "plait/io/inside/safetensors/safetensors_header.h"
#include "plait/io/inside/safetensors/safetensors_shard_names.h"
#include "plait/io/safetensors.h"

namespace plait {
namespace {

using Arrays = ArraysByName;
using Metadata = std::optional<SafetensorsMetadata>;

void write_file(const ByteSink& sink, const Arrays& arrays, const Metadata& metadata) {
  std::vector<SafetensorsTensor> tensors;
  for (const auto& [name, array] : arrays) tensors.push_back(safetensors_tensor(name, array));
  sink(bytes_of(std::string_view(place_safetensors(tensors, metadata))));
  for (const SafetensorsTensor& each : tensors)
    sink(bytes_of(arrays.at(each.name).on_host().contiguous()));
}

void save_one(const std::string& path, const Arrays& arrays, const Metadata& metadata) {
  OutputFile file(path);
  write_file([&](std::span<const std::byte> bytes) { file.write(bytes); }, arrays, metadata);
  file.finish();
}

// All shards are written before the first of them is renamed.
void save_shards(const std::vector<Arrays>& shards, const SafetensorsShardNames& names,
                 const Metadata& metadata) {
  std::vector<std::string> paths;
  std::vector<std::unique_ptr<OutputFile>> files;
  for (size_t i = 0; i < shards.size(); ++i) {
    paths.push_back(names.shard(i, shards.size()));
    files.push_back(std::make_unique<OutputFile>(paths.back()));
    write_file([&](std::span<const std::byte> bytes) { files.back()->write(bytes); }, shards[i],
               metadata);
  }
  OutputFile index(names.index());
  index.write(bytes_of(std::string_view(safetensors_index(shards, paths))));
  for (const auto& file : files) file->finish();
  index.finish();
}

}  // namespace

std::string save_safetensors(const std::string& path, const Arrays& arrays,
                             const SafetensorsOptions& options) {
  check_for_safetensors(arrays, options.metadata);
  if (options.largest_shard < 0) {
    throw ValueError("largest_shard is {}, expected 0 or more", options.largest_shard);
  }
  if (options.largest_shard == 0) {
    save_one(path, arrays, options.metadata);
    return path;
  }
  const SafetensorsShardNames names(path);
  const std::vector<Arrays> shards = divided_into_shards(arrays, options.largest_shard);
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
  check_for_safetensors(arrays, metadata);
  std::vector<std::byte> file;
  write_file(
      [&](std::span<const std::byte> bytes) {
        file.insert(file.end(), bytes.begin(), bytes.end());
      },
      arrays, metadata);
  return file;
}

}  // namespace plait
