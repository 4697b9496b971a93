#include "plait/ir/inside/text/location_text.h"

#include <algorithm>
#include <charconv>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait::ir {
namespace {

bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// True if the name can be written in a comment without quotes and parsed again.
bool is_plain_file(std::string_view file) {
  return !file.empty() && file.front() != '"' && std::all_of(file.begin(), file.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '\x7f';
  });
}

struct FileAndLine {
  std::string_view file;
  int64_t line = -1;  // -1 if not given
};

FileAndLine split_location(std::string_view text) {
  constexpr size_t kMostDigits = 18;
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {text};
  const std::string_view digits = text.substr(colon + 1);
  if (digits.empty() || digits.size() > kMostDigits) return {text};
  if (!std::all_of(digits.begin(), digits.end(), is_digit)) return {text};
  int64_t line = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), line);
  return {text.substr(0, colon), line};
}

// "program+0x1f3a": without debug information.
bool is_address(std::string_view text) {
  const size_t plus = text.rfind("+0x");
  if (plus == std::string_view::npos || plus == 0) return false;
  const std::string_view digits = text.substr(plus + 3);
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), is_hexadecimal);
}

}  // namespace

void print_location(std::string& out, Location location) {
  const std::string text = location.text();
  const FileAndLine place = split_location(text);
  if (text.empty()) return;
  if (is_plain_file(place.file)) {
    out += place.file;
    if (place.line < 0 && is_address(place.file)) return;
  } else {
    print_quoted(out, place.file);
  }
  out += ':';
  print_number(out, std::max<int64_t>(place.line, 0));
}

Location parse_location(std::string_view text) {
  const FileAndLine place = split_location(text);
  if (is_plain_file(place.file)) {
    if (place.line >= 0) return Location::of(place.file, place.line);
    return is_address(text) ? Location::of(text, 0) : Location();
  }
  if (place.line < 0 || !place.file.starts_with('"')) return {};
  try {
    TextReader reader(place.file);
    const std::string file = reader.quoted();
    return reader.position() == place.file.size() ? Location::of(file, place.line) : Location();
  } catch (const ParseError&) {
    return {};  // an ordinary comment
  }
}

}  // namespace plait::ir
