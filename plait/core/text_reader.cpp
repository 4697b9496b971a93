#include "plait/core/text_reader.h"

#include "plait/core/error.h"

namespace plait {

void TextReader::skip_spaces() {
  while (position_ < text_.size() &&
         std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
    ++position_;
  }
}

bool TextReader::accept(std::string_view token) {
  const size_t start = position_;
  skip_spaces();
  if (rest().starts_with(token)) {
    position_ += token.size();
    return true;
  }
  position_ = start;
  return false;
}

void TextReader::expect(std::string_view token) {
  if (accept(token)) return;
  skip_spaces();
  fail_expected(fmt::format("'{}'", token));
}

void TextReader::fail_expected(std::string_view what) const {
  fail(fmt::format("expected {}, found {}", what, excerpt(rest())));
}

void TextReader::fail_at(size_t position, std::string_view message) {
  throw ParseError("column {}: {}", position + 1, message);
}

std::string excerpt(std::string_view text) {
  constexpr size_t kLongest = 24;
  if (text.empty()) return "the end of the text";
  std::string result = "'";
  for (const char c : text.substr(0, kLongest)) {
    const bool printable = c >= 0x20 && c < 0x7f;
    if (printable) {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return result + (text.size() > kLongest ? "'..." : "'");
}

}  // namespace plait
