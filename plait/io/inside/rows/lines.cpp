#include "plait/io/inside/rows/lines.h"

#include "plait/core/error.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/rows/row_index.h"
#include "plait/io/inside/utf8.h"

namespace plait {

namespace {

size_t number_of_line(const LinesOfFile& lines, size_t position) {
  return lines.lines_before + line_number(lines.text, position);
}

}  // namespace

std::string_view text_of_line(const LinesOfFile& lines, size_t position) {
  const std::string_view line = line_at(lines.text, position);
  const size_t valid = valid_utf8_bytes(line);
  if (valid == line.size()) return line;
  throw ParseError("{}: line {}: byte {} of the line is not UTF-8", lines.path,
                   number_of_line(lines, position), valid);
}

Json json_of_line(const LinesOfFile& lines, size_t position) {
  try {
    return Json::parse(line_at(lines.text, position));
  } catch (Error& error) {
    error.prepend(fmt::format("{}: line {}: ", lines.path, number_of_line(lines, position)));
    throw;
  }
}

}  // namespace plait
