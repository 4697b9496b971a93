#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/safetensors/safetensors_source.h"

namespace plait {
namespace {

constexpr std::string_view kIndexEnding = ".index.json";

// A file of the index, and the tensors that the index says are in it.
struct Shard {
  std::string path;
  std::vector<std::string_view> names;
  std::unique_ptr<const SafetensorsFile> file = nullptr;  // null until it is needed
};

// An index may come from anywhere, and names files of its own folder only.
void check_shard_name(const std::string& name) {
  const bool is_name = !name.empty() && name != "." && name != ".." &&
                       name.find_first_of(std::string_view("/\0", 2)) == std::string::npos;
  if (is_name) return;
  throw ParseError("weight_map names {}, expected a file in the folder of the index",
                   in_quotes(name));
}

// The file must have exactly the tensors that the index says are in it.
void check_shard(const Shard& shard) {
  for (const std::string_view name : shard.names) {
    if (!shard.file->find(name)) {
      throw ParseError("tensor {} is not in {}", in_quotes(name), shard.path);
    }
  }
  if (shard.names.size() == shard.file->header().tensors.size()) return;
  const std::unordered_set<std::string_view> listed(shard.names.begin(), shard.names.end());
  for (const SafetensorsTensor& each : shard.file->header().tensors) {
    if (!listed.contains(each.name)) {
      throw ParseError("tensor {} is in {}, but not in the index", in_quotes(each.name),
                       shard.path);
    }
  }
}

class SafetensorsShards : public SafetensorsSource {
 public:
  explicit SafetensorsShards(const std::string& path) : path_(path) {
    const InputFile file(path);
    naming_the_index([&] { read(Json::parse(characters_of(file.bytes()))); });
  }

  std::span<const std::string> names() const override { return names_; }
  bool contains(std::string_view name) const override { return shard_of_.contains(name); }
  const SafetensorsFile& file_of(std::string_view name) const override {
    return opened(shards_[shard_of_.at(name)]);
  }
  const std::optional<SafetensorsMetadata>& metadata() const override {
    static const std::optional<SafetensorsMetadata> none;
    return shards_.empty() ? none : opened(shards_.front()).header().metadata;
  }

 private:
  template <class Work>
  void naming_the_index(Work work) const {
    try {
      work();
    } catch (Error& error) {
      error.prepend(path_ + ": ");
      throw;
    }
  }

  void read(const Json& index) {
    const auto& weights = index.at("weight_map").as<Json::Object>("weight_map");
    const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
    std::unordered_map<std::string_view, size_t> shards;
    names_.reserve(weights.size());  // names are referred to
    for (const auto& [name, file] : weights) {
      const auto& shard = file.as<std::string>(fmt::format("{} of weight_map", in_quotes(name)));
      const auto [place, is_new] = shards.emplace(shard, shards_.size());
      if (is_new) {
        check_shard_name(shard);
        shards_.push_back({.path = (folder / shard).string(), .names = {}});
      }
      names_.push_back(name);
      shards_[place->second].names.push_back(names_.back());
      shard_of_.emplace(names_.back(), place->second);
    }
  }

  const SafetensorsFile& opened(Shard& shard) const {
    const std::lock_guard lock(mutex_);
    if (!shard.file) {
      naming_the_index([&] {
        Shard read{shard.path, shard.names, std::make_unique<SafetensorsFile>(shard.path)};
        check_shard(read);
        shard.file = std::move(read.file);
      });
    }
    return *shard.file;
  }

  std::string path_;
  std::vector<std::string> names_;
  std::unordered_map<std::string_view, size_t> shard_of_;
  mutable std::mutex mutex_;  // for the files of shards
  mutable std::vector<Shard> shards_;
};

class OneSafetensorsFile : public SafetensorsSource {
 public:
  explicit OneSafetensorsFile(std::unique_ptr<const SafetensorsFile> file)
      : file_(std::move(file)) {
    for (const SafetensorsTensor& each : file_->header().tensors) names_.push_back(each.name);
  }

  std::span<const std::string> names() const override { return names_; }
  bool contains(std::string_view name) const override { return file_->find(name) != nullptr; }
  const SafetensorsFile& file_of(std::string_view) const override { return *file_; }
  const std::optional<SafetensorsMetadata>& metadata() const override {
    return file_->header().metadata;
  }

 private:
  std::unique_ptr<const SafetensorsFile> file_;
  std::vector<std::string> names_;
};

}  // namespace

std::shared_ptr<const SafetensorsSource> one_safetensors_file(
    std::unique_ptr<const SafetensorsFile> file) {
  return std::make_shared<const OneSafetensorsFile>(std::move(file));
}

bool is_safetensors_index(std::string_view path) { return path.ends_with(kIndexEnding); }

std::shared_ptr<const SafetensorsSource> open_safetensors_index(const std::string& path) {
  return std::make_shared<const SafetensorsShards>(path);
}

}  // namespace plait
