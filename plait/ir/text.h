// A cursor over program text: skips space and comments, reads the small things that programs are
// made of, and reports what is wrong by line and column.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "plait/core/dim.h"
#include "plait/core/dtype.h"
#include "plait/core/literal.h"
#include "plait/core/location.h"
#include "plait/core/size_facts.h"

namespace plait::ir {

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  bool at_end();                         // past space and comments
  bool accept(std::string_view symbol);  // takes the symbol if it is next: punctuation
  void expect(std::string_view symbol);
  bool next_is(std::string_view symbol);
  bool next_in_line_is(std::string_view symbol);         // before the line ends
  bool next_adjacent_is(std::string_view symbol) const;  // without space before it
  std::string_view rest_of_line() const;    // up to a comment, without blanks at the end
  bool accept_word(std::string_view word);  // a whole name, not the beginning of a longer one
  bool next_is_word(std::string_view word);

  std::string_view name();         // [A-Za-z_][A-Za-z0-9_.]*
  std::string_view value_label();  // a name or a number, after %
  bool next_is_name();
  void skip_to_token() { skip_space(); }  // so that position() is where the next token begins
  // Past the '}' that belongs to the '{' at `opening`; what is between is not looked at.
  void skip_braces(size_t opening);
  int64_t integer();
  double real();         // any form that print_real writes
  std::string quoted();  // "text" with \" \\ \n \t \xHH
  Dim dim();
  SizeFact size_fact();  // n == m, n%8 == 0, 1 <= n
  Literal literal();

  // The place noted in the rest of this line: "; model.cpp:14". Unknown when there is none.
  Location trailing_location();

  size_t position() const { return position_; }
  void seek(size_t position) { position_ = position; }
  std::string_view text() const { return text_; }

  // Guards against nesting that would exhaust the stack: hold one while reading something nested.
  class Nesting {
   public:
    explicit Nesting(TextReader& reader);
    ~Nesting() { --reader_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    TextReader& reader_;
  };

  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fail_at(position_, fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  [[noreturn]] void fail_at(size_t position, std::string_view message) const;
  [[noreturn]] void fail_expecting(std::string_view what);  // "expected …, found …"
  std::string line_and_column(size_t position) const;       // "line 3, column 7"
  // The next few characters, for messages.
  std::string found();

 private:
  template <class Parse>
  auto parse_with(Parse parse);
  void skip_space();
  void skip_quoted();
  uint64_t hexadecimal(std::string_view digits);

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
  std::unordered_map<std::string_view, Location>
      places_;  // read before: most lines are named often
};

bool is_name(std::string_view text);  // [A-Za-z_][A-Za-z0-9_.]*

// A location as a comment says it: "model.cpp:14", "\"my model.cpp\":14", or "program+0x1f3a" where
// nothing better is known. Any other text is no location.
void print_location(std::string& out, Location location);
Location parse_location(std::string_view text);

void print_quoted(std::string& out, std::string_view text);
void print_real(std::string& out,
                double value);  // shortest form that reads back, nan, inf, nan:0x7ff8000000000001
void print_number(std::string& out, int64_t value);

}  // namespace plait::ir
