// A position in a text that is being read, for the small parsers of this room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace plait {

class TextReader {
 public:
  TextReader(std::string_view text, size_t position)
      : text_(text), position_(position < text.size() ? position : text.size()) {}

  size_t position() const { return position_; }
  std::string_view rest() const { return text_.substr(position_); }
  char next() const { return position_ < text_.size() ? text_[position_] : '\0'; }  // 0 at the end
  void advance(size_t count) { position_ += count; }

  void skip_spaces();
  bool accept(std::string_view token);  // skips spaces first; false and unmoved when it is not next
  void expect(std::string_view token);  // ParseError when it is not next

  // ParseError: "column 7: expected a size, found 'x]'".
  [[noreturn]] void fail_expected(std::string_view what) const;
  // ParseError: "column 7: <message>".
  [[noreturn]] void fail(std::string_view message) const { fail_at(position_, message); }
  [[noreturn]] static void fail_at(size_t position, std::string_view message);

 private:
  std::string_view text_;
  size_t position_;
};

// The beginning of a text, short and printable, for messages.
std::string excerpt(std::string_view text);

}  // namespace plait
