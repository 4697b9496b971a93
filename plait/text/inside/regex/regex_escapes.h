// Reads a pattern: its characters and escapes.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "plait/text/inside/regex/regex_node.h"

namespace plait::text {

class RegexReader {
 public:
  explicit RegexReader(std::string_view pattern) : pattern_(pattern) {}

  void expect_utf8() const;
  bool at_end() const { return at_ == pattern_.size(); }
  bool next_is(std::string_view symbol) const { return pattern_.substr(at_).starts_with(symbol); }
  bool accept(std::string_view symbol);
  char32_t character();  // the next one, whatever it is
  void skip_name();      // for a group, to after the >

  // \b, \A and so on.
  std::optional<Assertion> accept_assertion();
  // \s, \p{L} and so on.
  std::optional<CharacterSet> accept_set_escape();
  // The character that an escape stands for; the next is \.
  char32_t escaped_character();
  // A member of a bracket: a character, maybe escaped.
  char32_t bracket_character();
  // {2}, {2,}, {,3} or {2,3}. A { that begins no interval is a character.
  std::optional<std::pair<uint32_t, uint32_t>> accept_interval();

  // Throws a ParseError with the place.
  [[noreturn]] void fail(std::string_view why) const;

 private:
  char32_t hexadecimal(size_t least, size_t most);
  CharacterSet property();
  std::optional<uint32_t> accept_number();

  std::string_view pattern_;
  size_t at_ = 0;
};

}  // namespace plait::text
