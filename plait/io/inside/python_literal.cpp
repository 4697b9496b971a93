#include "plait/io/inside/python_literal.h"

#include <charconv>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait {
namespace {

using Kind = PythonLiteral::Kind;

constexpr int kDeepest = 32;
constexpr std::string_view kSpace = " \t\r\n";

class Reader {
 public:
  Reader(std::string_view text, size_t origin) : text_(text), origin_(origin) {}

  PythonLiteral whole() {
    PythonLiteral value = read_value();
    skip_space();
    if (position_ < text_.size()) fail_expecting("the end of the header");
    return value;
  }

 private:
  PythonLiteral read_value() {
    skip_space();
    PythonLiteral value;
    value.position = origin_ + position_;
    const char first = next();
    if (first == '\'' || first == '"') {
      read_string(value);
    } else if (first == '-' || is_digit(first)) {
      read_integer(value);
    } else if (accept("True") || accept("False")) {
      value.kind = Kind::boolean;
      value.integer = first == 'T' ? 1 : 0;
    } else if (first == '(' || first == '[' || first == '{') {
      read_items(value);
    } else {
      fail_expecting("a string, a number, True, False, '(', '[' or '{'");
    }
    return value;
  }

  void read_string(PythonLiteral& value) {
    value.kind = Kind::string;
    const char quote = text_[position_];
    size_t end = position_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) fail("an unterminated string");
    value.text = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
  }

  void read_integer(PythonLiteral& value) {
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value.integer);
    if (error == std::errc::result_out_of_range) fail("a number that exceeds 63 bits");
    if (error != std::errc()) fail_expecting("a number");
    position_ += static_cast<size_t>(end - begin);
    if (next() == 'L') ++position_;  // suffix of long integers in Python 2
  }

  // A tuple of one element has a trailing comma; otherwise the parentheses only group.
  void read_items(PythonLiteral& value) {
    if (++depth_ > kDeepest) fail("values are nested too deeply");
    const char open = text_[position_++];
    value.kind = open == '(' ? Kind::tuple : open == '[' ? Kind::list : Kind::dictionary;
    const std::string_view close = open == '(' ? ")" : open == '[' ? "]" : "}";
    bool comma = true;
    while (!accept(close)) {
      if (!comma) fail_expecting("',' or the closing bracket");
      value.items.push_back(read_value());
      if (value.kind == Kind::dictionary) {
        if (!accept(":")) fail_expecting("':'");
        value.items.push_back(read_value());
      }
      comma = accept(",");
    }
    --depth_;
    if (value.kind == Kind::tuple && value.items.size() == 1 && !comma) {
      PythonLiteral enclosed = std::move(value.items[0]);
      value = std::move(enclosed);
    }
  }

  void skip_space() {
    while (position_ < text_.size() && kSpace.find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }
  char next() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool accept(std::string_view symbol) {
    skip_space();
    if (!text_.substr(position_).starts_with(symbol)) return false;
    position_ += symbol.size();
    return true;
  }

  [[noreturn]] void fail(std::string_view message) const {
    throw ParseError("byte {}: {}", origin_ + position_, message);
  }
  [[noreturn]] void fail_expecting(std::string_view what) const {
    std::string found = "the end";
    if (position_ < text_.size()) {
      found.clear();
      print_quoted(found, text_.substr(position_, 12));
    }
    fail(fmt::format("expected {}, found {}", what, found));
  }

  std::string_view text_;
  size_t origin_;
  size_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

PythonLiteral parse_python_literal(std::string_view text, size_t origin) {
  return Reader(text, origin).whole();
}

}  // namespace plait
