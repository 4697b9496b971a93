// Values of the metadata of GGUF files.
#pragma once

#include <string>

#include "plait/io/gguf.h"
#include "plait/io/inside/byte_fields.h"

namespace plait {

// A length and its bytes, which must be UTF-8.
std::string read_gguf_text(FieldReader& reader);

// A type and a value of it.
GgufValue read_gguf_value(FieldReader& reader);

// ParseError if `count` things of at least `least` bytes cannot be in the rest of the file.
void expect_room(const FieldReader& reader, uint64_t count, uint64_t least,
                 std::string_view things);

}  // namespace plait
