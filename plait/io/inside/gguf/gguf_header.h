// The beginning of a GGUF file: metadata, and the list of tensors.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/io/gguf.h"
#include "plait/io/inside/gguf/gguf_types.h"

namespace plait {

struct GgufTensor {
  std::string name;
  GgufInfo info;
  const GgufType* type = nullptr;
};

struct GgufHeader {
  uint32_t version = 0;
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<GgufTensor> tensors;
};

// From the bytes of a whole file, of which only the header is read. ParseError if it is malformed.
GgufHeader parse_gguf_header(std::span<const std::byte> file);

}  // namespace plait
