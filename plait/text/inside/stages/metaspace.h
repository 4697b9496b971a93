// SentencePiece's way to keep spaces: each becomes a visible character, "▁".
#pragma once

#include <cstdint>
#include <string>

#include "plait/text/inside/files/json_fields.h"
#include "plait/text/inside/files/json_writer.h"

namespace plait::text {

// Says when a space is put before words.
enum class PrependScheme : uint8_t { first, never, always };

struct MetaspaceOptions {
  char32_t mark = 0x2581;
  PrependScheme prepend = PrependScheme::always;
  bool splits = true;  // before each mark

  static MetaspaceOptions read(JsonFields& fields);
  void write(JsonWriter& out) const;
};

}  // namespace plait::text
