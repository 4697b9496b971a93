// Lines of text and of JSON in files. Errors name file and line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace plait {

class Json;

// Lines of a text that is a file, or a part of one that comes after so many lines.
struct LinesOfFile {
  const std::string& path;
  std::string_view text;
  size_t lines_before = 0;
};

// The line at a position of the text; ParseError if it is not UTF-8, or not JSON.
std::string_view text_of_line(const LinesOfFile& lines, size_t position);
Json json_of_line(const LinesOfFile& lines, size_t position);

}  // namespace plait
