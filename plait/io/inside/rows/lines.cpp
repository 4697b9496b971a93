#include "plait/io/inside/rows/lines.h"

#include "plait/core/error.h"
#include "plait/io/inside/compressed/compression.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/rows/row_index.h"
#include "plait/io/inside/utf8.h"

namespace plait {

std::shared_ptr<const InputFile> open_lines(const std::string& path) {
  auto file = std::make_shared<const InputFile>(path);
  try {
    expect_not_compressed(file->bytes());
  } catch (Error& error) {
    error.prepend(path + ": ");
    throw;
  }
  return file;
}

std::string_view text_of_line(const std::string& path, std::string_view text, size_t position) {
  const std::string_view line = line_at(text, position);
  const size_t valid = valid_utf8_bytes(line);
  if (valid == line.size()) return line;
  throw ParseError("{}: line {}: byte {} of the line is not UTF-8", path,
                   line_number(text, position), valid);
}

Json json_of_line(const std::string& path, std::string_view text, size_t position) {
  try {
    return Json::parse(line_at(text, position));
  } catch (Error& error) {
    error.prepend(fmt::format("{}: line {}: ", path, line_number(text, position)));
    throw;
  }
}

}  // namespace plait
