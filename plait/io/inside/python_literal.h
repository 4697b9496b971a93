// Python literals, as in the headers of .npy files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

struct PythonLiteral {
  enum class Kind : uint8_t { string, integer, boolean, tuple, list, dictionary };

  Kind kind = Kind::integer;
  size_t position = 0;  // offset in the text
  std::string text;     // text of a string: between the quotes, with escapes unprocessed
  int64_t integer = 0;  // value of an integer; of a boolean: 0 or 1
  std::vector<PythonLiteral> items;  // items of a dictionary: alternating keys and values

  bool is_string(std::string_view value) const { return kind == Kind::string && text == value; }
};

// Parses the whole text as one value; surrounding space is allowed. A ParseError names the byte,
// where the text begins at `origin` in its file.
PythonLiteral parse_python_literal(std::string_view text, size_t origin);

}  // namespace plait
