// Where the tensors of an open Safetensors are: in one file, or in the shards of an index.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plait/io/inside/safetensors/safetensors_file.h"

namespace plait {

class SafetensorsSource {
 public:
  virtual ~SafetensorsSource() = default;
  virtual std::span<const std::string> names() const = 0;
  virtual bool contains(std::string_view name) const = 0;
  // The file that has the tensor of this name, which is one of names().
  virtual const SafetensorsFile& file_of(std::string_view name) const = 0;
  virtual const std::optional<SafetensorsMetadata>& metadata() const = 0;
};

std::shared_ptr<const SafetensorsSource> one_safetensors_file(
    std::unique_ptr<const SafetensorsFile> file);

// True for the name of an index: "model.safetensors.index.json".
bool is_safetensors_index(std::string_view path);
// Reads the index only.
std::shared_ptr<const SafetensorsSource> open_safetensors_index(const std::string& path);

}  // namespace plait
