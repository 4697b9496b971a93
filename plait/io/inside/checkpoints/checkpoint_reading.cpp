#include <filesystem>
#include <set>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/inside/checkpoints/checkpoint_checksums.h"
#include "plait/io/inside/checkpoints/checkpoint_files.h"
#include "plait/io/inside/checkpoints/checkpoint_metadata.h"
#include "plait/io/inside/checkpoints/checkpoint_names.h"
#include "plait/io/inside/safetensors/safetensors_source.h"

namespace plait {
namespace {

template <class Work>
void naming_the_file(const SafetensorsFile& file, Work work) {
  try {
    work();
  } catch (Error& error) {
    error.prepend(file.path() + ": ");
    throw;
  }
}

// The file of a checkpoint, or all of its shards, whose headers are checked.
class OpenCheckpoint {
 public:
  explicit OpenCheckpoint(const std::string& path) {
    if (is_safetensors_index(path)) {
      open_shards(path);
    } else {
      whole_ = std::make_unique<SafetensorsFile>(path);
      files_.push_back(whole_.get());
    }
    for (const SafetensorsFile* const file : files_) {
      naming_the_file(*file, [&] { check_header_checksum(file->bytes()); });
    }
    naming_the_file(*files_.front(), [&] { describe(path); });
  }

  const std::vector<const SafetensorsFile*>& files() const { return files_; }
  Checkpoint& description() { return description_; }

 private:
  void open_shards(const std::string& path) {
    shards_ = open_safetensors_index(path);
    std::set<const SafetensorsFile*> found;
    for (const std::string& name : shards_->names()) {
      const SafetensorsFile& file = shards_->file_of(name);
      if (found.insert(&file).second) files_.push_back(&file);
    }
    if (files_.empty()) throw ParseError("{}: it names no tensors", path);
  }

  void describe(const std::string& path) {
    const auto& metadata = files_.front()->header().metadata;
    if (!metadata) throw ParseError("there is no metadata");
    description_ = described_checkpoint(*metadata);
    const auto name = parse_checkpoint_name(std::filesystem::path(path).filename().string());
    if (name && name->step != description_.step) {
      throw ParseError("it is of step {}, not {}", description_.step, name->step);
    }
  }

  std::unique_ptr<SafetensorsFile> whole_;
  std::shared_ptr<const SafetensorsSource> shards_;
  std::vector<const SafetensorsFile*> files_;
  Checkpoint description_;
};

// In memory of its own, to which the run may write.
Array own_array(const SafetensorsFile& file, const SafetensorsTensor& tensor) {
  Array array = file.array(tensor);
  return array.buffer().is_borrowed() ? array.copy() : array;
}

std::string program_of(const Array& array) {
  const auto bytes = array.elements<uint8_t>();
  return {bytes.begin(), bytes.end()};
}

// Each tensor that the tree has, and no other.
void check_parts(const CheckpointTree& tree) {
  for (const auto& [path, array] : tree.arrays) {
    if (!tree.parts.contains(path)) throw ParseError("{} is not in the tree", path);
  }
  for (const auto& [path, first] : tree.same) {
    if (!tree.arrays.contains(first)) throw ParseError("{} is missing", first);
  }
}

}  // namespace

Checkpoint describe_checkpoint(const std::string& path) {
  return std::move(OpenCheckpoint(path).description());
}

Checkpoint read_checkpoint(const std::string& path) {
  OpenCheckpoint open(path);
  Checkpoint checkpoint = std::move(open.description());
  for (const SafetensorsFile* const file : open.files()) {
    naming_the_file(*file, [&] { check_tensors_checksum(file->bytes()); });
    for (const SafetensorsTensor& tensor : file->header().tensors) {
      checkpoint.tree.arrays.emplace(tensor.name, own_array(*file, tensor));
    }
  }
  naming_the_file(*open.files().front(), [&] {
    const auto program = checkpoint.tree.arrays.extract(kProgramTensor);
    if (!program.empty()) checkpoint.program = program_of(program.mapped());
    check_parts(checkpoint.tree);
  });
  return checkpoint;
}

}  // namespace plait
