#include <memory>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/checkpoints/checkpoint_checksums.h"
#include "plait/io/inside/checkpoints/checkpoint_files.h"
#include "plait/io/inside/checkpoints/checkpoint_metadata.h"
#include "plait/io/inside/checkpoints/checkpoint_names.h"
#include "plait/io/inside/checkpoints/checkpoint_paths.h"
#include "plait/io/inside/crc32c.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/npy_array.h"
#include "plait/io/inside/safetensors/safetensors_division.h"
#include "plait/io/inside/safetensors/safetensors_header.h"

namespace plait {
namespace {

// One file of a checkpoint: its header with checksums, and its tensors in the order of the file.
class ShardToWrite {
 public:
  ShardToWrite(const ArraysByName& arrays, const SafetensorsMetadata& metadata) : arrays_(arrays) {
    for (const auto& [name, array] : arrays) tensors_.push_back(safetensors_tensor(name, array));
    header_ = place_safetensors(tensors_, metadata);
    uint32_t sum = 0;
    for_each_array([&](std::span<const std::byte> bytes) { sum = crc32c_of(bytes, sum); });
    set_checksums(header_, sum);
  }

  std::span<const std::byte> header() const { return bytes_of(std::string_view(header_)); }
  void write(OutputFile& file) const {
    file.write(header());
    for_each_array([&](std::span<const std::byte> bytes) { file.write(bytes); });
  }

 private:
  void for_each_array(const ByteSink& sink) const {
    for (const SafetensorsTensor& each : tensors_) {
      sink(bytes_of(arrays_.at(each.name).on_host().contiguous()));
    }
  }

  const ArraysByName& arrays_;
  std::vector<SafetensorsTensor> tensors_;
  std::string header_;
};

Array array_of_program(const std::string& program) {
  const auto bytes = std::as_bytes(std::span(program));
  const auto* first = reinterpret_cast<const uint8_t*>(bytes.data());
  return Array::of(std::span(first, bytes.size()), {static_cast<int64_t>(bytes.size())});
}

ArraysByName arrays_to_write(const Checkpoint& checkpoint) {
  ArraysByName arrays = checkpoint.tree.arrays;
  if (!checkpoint.program.empty()) arrays[kProgramTensor] = array_of_program(checkpoint.program);
  return arrays;
}

void write_whole(const std::string& path, const ShardToWrite& shard) {
  OutputFile file(path);
  shard.write(file);
  file.finish();
}

// Equal for shards of equal contents only.
uint32_t contents_of(const std::vector<ShardToWrite>& shards) {
  uint32_t sum = 0;
  for (const ShardToWrite& each : shards) sum = crc32c_of(each.header(), sum);
  return sum;
}

void write_files(const std::vector<ShardToWrite>& shards, const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<OutputFile>> files;
  for (size_t i = 0; i < shards.size(); ++i) {
    files.push_back(std::make_unique<OutputFile>(paths[i]));
    shards[i].write(*files.back());
  }
  for (const auto& file : files) file->finish();
}

void write_index(const std::string& folder, int64_t step, const std::vector<ArraysByName>& parts,
                 const std::vector<std::string>& paths) {
  OutputFile index(folder + "/" + checkpoint_index_name(step));
  index.write(bytes_of(std::string_view(safetensors_index(parts, paths))));
  index.finish();
}

// The index is written when all shards are on the disk. If anything fails before, they are removed.
void write_shards(const std::string& folder, int64_t step, const std::vector<ArraysByName>& parts,
                  const std::vector<ShardToWrite>& shards) {
  const uint32_t contents = contents_of(shards);
  std::vector<std::string> paths;
  for (size_t i = 0; i < shards.size(); ++i) {
    paths.push_back(folder + "/" + checkpoint_shard_name(step, contents, i, shards.size()));
  }
  try {
    write_files(shards, paths);
    sync_folder(folder);
    write_index(folder, step, parts, paths);
  } catch (...) {
    remove_unused_shards(folder);
    throw;
  }
}

}  // namespace

void write_checkpoint(const std::string& folder, const Checkpoint& checkpoint,
                      int64_t largest_shard) {
  SafetensorsMetadata metadata = metadata_of(checkpoint);
  metadata[kChecksumsEntry] = kUnknownChecksums;
  const ArraysByName arrays = arrays_to_write(checkpoint);
  const std::vector<ArraysByName> parts =
      largest_shard == 0 ? std::vector{arrays} : divided_into_shards(arrays, largest_shard);
  std::vector<ShardToWrite> shards;
  for (const ArraysByName& part : parts) shards.emplace_back(part, metadata);
  const std::string whole = checkpoint_file_name(checkpoint.step);
  if (shards.size() == 1) {
    write_whole(folder + "/" + whole, shards[0]);
    sync_folder(folder);
    remove_checkpoint_file(folder, checkpoint_index_name(checkpoint.step));
  } else {
    write_shards(folder, checkpoint.step, parts, shards);
    sync_folder(folder);
    remove_checkpoint_file(folder, whole);
  }
  remove_unused_shards(folder);
}

}  // namespace plait
