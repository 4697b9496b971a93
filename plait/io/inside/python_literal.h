// Values as Python writes them: the headers of .npy files are one.
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
  size_t position = 0;               // where in the text it begins
  std::string text;                  // of a string: what is between the quotes, escapes as they are
  int64_t integer = 0;               // of an integer; of a boolean 0 or 1
  std::vector<PythonLiteral> items;  // of a dictionary: keys and values in turn

  bool is_string(std::string_view value) const { return kind == Kind::string && text == value; }
};

// All of the text is one value, with space around it. A ParseError names the byte, the text being
// taken to begin at `origin` in its file.
PythonLiteral parse_python_literal(std::string_view text, size_t origin);

}  // namespace plait
