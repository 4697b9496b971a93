// The element types of GGUF files. Quantised ones are blocks of a fixed number of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plait/core/numbers/dtype.h"

namespace plait {

// Dequantises one block.
using GgufDequantize = void (*)(const uint8_t* block, float* elements);

struct GgufType {
  uint32_t number;  // in files
  std::string_view name;
  uint32_t elements, bytes;                   // elements and bytes of a block
  std::optional<DType> dtype = std::nullopt;  // if it is not quantised
  GgufDequantize dequantize = nullptr;        // if it is, and Plait reads it

  bool is_readable() const { return dtype || dequantize; }
};

// ParseError for a number that no type has.
const GgufType& gguf_type(uint32_t number);
std::string readable_gguf_types();  // "F32, F16, …"

}  // namespace plait
