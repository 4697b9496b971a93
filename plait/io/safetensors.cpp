#include "plait/io/safetensors.h"

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/safetensors/safetensors_source.h"

namespace plait {
namespace {

// The file that has the tensor; KeyError if there is none of this name.
const SafetensorsFile& file_with(const SafetensorsSource& source, std::string_view name) {
  if (source.contains(name)) return source.file_of(name);
  const std::string near = nearest_name(name, source.names());
  throw KeyError("unknown tensor {}", in_quotes(name))
      .hint(near.empty() ? "" : fmt::format("did you mean {}?", in_quotes(near)));
}

std::map<std::string, Array> all_arrays(const Safetensors& file) {
  std::map<std::string, Array> arrays;
  try {
    for (const std::string& name : file.names()) arrays.emplace(name, file.array(name));
  } catch (TypeError& error) {  // a dtype that Plait lacks
    error.set_hint("Safetensors::open(path) lists the tensors, and reads the others");
    throw;
  }
  return arrays;
}

}  // namespace

Safetensors Safetensors::open(const std::string& path) {
  if (is_safetensors_index(path)) return Safetensors(open_safetensors_index(path));
  return Safetensors(one_safetensors_file(std::make_unique<SafetensorsFile>(path)));
}

Safetensors Safetensors::read(std::span<const std::byte> file) {
  return Safetensors(one_safetensors_file(std::make_unique<SafetensorsFile>(file)));
}

std::span<const std::string> Safetensors::names() const { return source_->names(); }

bool Safetensors::contains(std::string_view name) const { return source_->contains(name); }

const SafetensorsInfo& Safetensors::info(std::string_view name) const {
  return file_with(*source_, name).find(name)->info;
}

const std::optional<SafetensorsMetadata>& Safetensors::metadata() const {
  return source_->metadata();
}

Array Safetensors::array(std::string_view name) const {
  const SafetensorsFile& file = file_with(*source_, name);
  return file.array(*file.find(name));
}

Array Safetensors::slice(std::string_view name, std::span<const Slice> slices) const {
  const SafetensorsFile& file = file_with(*source_, name);
  return file.slice(*file.find(name), slices);
}

Array Safetensors::bytes(std::string_view name) const {
  const SafetensorsFile& file = file_with(*source_, name);
  return file.bytes_array(*file.find(name));
}

Array Safetensors::values(std::string_view name) const {
  const SafetensorsFile& file = file_with(*source_, name);
  return file.values(*file.find(name));
}

std::map<std::string, Array> load_safetensors(const std::string& path) {
  return all_arrays(Safetensors::open(path));
}

std::map<std::string, Array> read_safetensors(std::span<const std::byte> file) {
  return all_arrays(Safetensors::read(file));
}

}  // namespace plait
