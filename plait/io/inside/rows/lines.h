// Lines of text and of JSON in files. Errors name file and line.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace plait {

class InputFile;
class Json;

// ParseError for a file that is compressed.
std::shared_ptr<const InputFile> open_lines(const std::string& path);

// The line at a position of the text of a file; ParseError if it is not UTF-8, or not JSON.
std::string_view text_of_line(const std::string& path, std::string_view text, size_t position);
Json json_of_line(const std::string& path, std::string_view text, size_t position);

}  // namespace plait
