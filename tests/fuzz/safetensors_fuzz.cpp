// Any bytes either are a safetensors file or give an error; what is read is the same when written
// again. Its tensors may still be refused: those of dtypes that Plait lacks, and wrong bools.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "plait/core/error.h"
#include "plait/io/safetensors.h"

namespace {

std::optional<std::map<std::string, plait::Array>> arrays_of(const plait::Safetensors& file) {
  std::map<std::string, plait::Array> arrays;
  bool are_all = true;
  for (const std::string& name : file.names()) {
    try {
      if (file.bytes(name).element_count() !=
          static_cast<int64_t>(file.info(name).end - file.info(name).begin)) {
        throw std::logic_error("bytes of " + name + " are missing");
      }
      const plait::Slice rows{1, {}, 2};
      if (!file.info(name).sizes.empty()) file.slice(name, {&rows, 1}).contiguous();
      arrays.emplace(name, file.array(name));
    } catch (const plait::Error&) {
      are_all = false;
      try {
        file.values(name);
      } catch (const plait::Error&) {
      }
    }
  }
  if (!are_all) return std::nullopt;
  return arrays;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::optional<std::map<std::string, plait::Array>> arrays;
  std::optional<plait::SafetensorsMetadata> metadata;
  try {
    const auto file = plait::Safetensors::read(std::as_bytes(std::span(data, size)));
    arrays = arrays_of(file);
    metadata = file.metadata();
  } catch (const plait::Error&) {
    return 0;
  }
  if (!arrays) return 0;
  const auto again = plait::read_safetensors(plait::write_safetensors(*arrays, metadata));
  if (again.size() != arrays->size()) throw std::logic_error("tensors are lost");
  for (const auto& [name, array] : *arrays) {
    if (again.at(name).literal() != array.literal()) {
      throw std::logic_error("tensor " + name + " differs, read again");
    }
  }
  return 0;
}
