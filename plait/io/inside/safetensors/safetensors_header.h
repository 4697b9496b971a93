// The header of a safetensors file: eight bytes of its length, then a JSON object with the dtype,
// the sizes and the place of each tensor, padded with spaces.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/io/safetensors.h"

namespace plait {

// An element type of the format.
struct SafetensorsDType {
  std::string_view name;
  uint64_t bits;
  std::optional<DType> dtype = std::nullopt;  // that of Plait, if it has one
};

struct SafetensorsTensor {
  std::string name;
  SafetensorsInfo info;
  const SafetensorsDType* type = nullptr;
  // That of the array: c128 and keys are stored as pairs of numbers. Nothing if Plait lacks it.
  std::optional<DType> dtype = std::nullopt;

  Sizes sizes() const;  // sizes of the array
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // in the order of their bytes
  std::optional<SafetensorsMetadata> metadata;
};

// From the bytes of a whole file, of which only the header is read. ParseError if it is malformed.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file);

// The tensor for an array, still without a place.
SafetensorsTensor safetensors_tensor(const std::string& name, const Array& array);

// Sorts the tensors as the reference does, sets their places, and returns the beginning of the file
// up to the first of them. ValueError if it is too long.
std::string place_safetensors(std::vector<SafetensorsTensor>& tensors,
                              const std::optional<SafetensorsMetadata>& metadata);

}  // namespace plait
