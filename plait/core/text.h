// A tokenizer and writer for words, numbers and quoted strings. Errors report line and column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace plait {

// A position in a text. Space, and comments from ';' to the end of the line, are skipped before
// each token, unless stated otherwise.
class TextReader {
 public:
  explicit TextReader(std::string_view text, size_t position = 0)
      : text_(text), position_(position < text.size() ? position : text.size()) {}

  std::string_view text() const { return text_; }
  size_t position() const { return position_; }
  void seek(size_t position) { position_ = position; }
  void skip_space();  // to the beginning of the next token
  bool at_end();

  // These read the next characters, without skipping.
  char next() const { return position_ < text_.size() ? text_[position_] : '\0'; }  // 0 at the end
  std::string_view rest() const { return text_.substr(position_); }
  std::string_view rest_of_line() const;  // up to a comment, without trailing blanks
  void advance(size_t count) { position_ += count; }
  bool next_adjacent_is(std::string_view symbol) const { return rest().starts_with(symbol); }

  bool accept(std::string_view symbol);  // consumes the symbol (punctuation) if it is next
  void expect(std::string_view symbol);
  bool next_is(std::string_view symbol);
  bool next_in_line_is(std::string_view symbol) const;  // before the line ends
  bool accept_word(std::string_view word);  // a whole name, not a prefix of a longer one
  bool next_is_word(std::string_view word);
  bool next_is_name();

  std::string_view name();  // [A-Za-z_][A-Za-z0-9_.]*
  int64_t integer();
  std::string quoted();        // "text" with \" \\ \n \t \xHH
  std::string_view comment();  // the rest of this line after ';', consumed
  // Skips to after the '}' that matches the '{' at `opening`, without parsing what is between.
  void skip_braces(size_t opening);

  // Limits nesting, which could exhaust the stack: hold one while parsing something nested.
  class Nesting {
   public:
    explicit Nesting(TextReader& reader);
    ~Nesting() { --reader_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    TextReader& reader_;
  };

  // Throws a ParseError: "line 3, column 7: <message>".
  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    fail_at(position_, fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  [[noreturn]] void fail_at(size_t position, std::string_view message) const;
  [[noreturn]] void fail_expecting(std::string_view what);  // "expected …, found …"
  std::string line_and_column(size_t position) const;       // "line 3, column 7"
  std::string found();                                      // the next token, for messages

 private:
  void skip_quoted();
  uint64_t hexadecimal(std::string_view digits) const;

  std::string_view text_;
  size_t position_;
  int depth_ = 0;
};

// Parses a whole text with `parse`, which receives a reader: trailing text is an error.
template <class Parse>
auto parse_whole(std::string_view text, Parse parse) {
  TextReader reader(text);
  auto result = parse(reader);
  if (!reader.at_end()) reader.fail_expecting("the end of the text");
  return result;
}

// The end of the character in UTF-8 that begins at the position.
size_t end_of_character(std::string_view text, size_t position);

bool is_digit(char c);
bool begins_name(char c);
bool continues_name(char c);
bool is_name(std::string_view text);

void print_quoted(std::string& out, std::string_view text);
std::string in_quotes(std::string_view text);
void print_number(std::string& out, int64_t value);

// True if one name could be a misspelling of the other.
bool are_similar(std::string_view a, std::string_view b);
// The most similar of the names; empty if none is similar.
std::string nearest_name(std::string_view name, std::span<const std::string> names);

// True if the text matches the pattern, in which * stands for any text and ? for any character.
inline bool matches_pattern(std::string_view text, std::string_view pattern) {
  size_t i = 0, j = 0, star = std::string_view::npos, retry = 0;
  while (i < text.size()) {
    if (j < pattern.size() && pattern[j] == '*') {
      star = j++;
      retry = i;
    } else if (j < pattern.size() && (pattern[j] == '?' || pattern[j] == text[i])) {
      ++i;
      ++j;
    } else if (star != std::string_view::npos) {
      j = star + 1;
      i = ++retry;
    } else {
      return false;
    }
  }
  while (j < pattern.size() && pattern[j] == '*') ++j;
  return j == pattern.size();
}
// True if it matches one of the patterns.
inline bool matches_one(std::string_view text, std::span<const std::string> patterns) {
  for (const std::string& pattern : patterns) {
    if (matches_pattern(text, pattern)) return true;
  }
  return false;
}

}  // namespace plait
