#include "plait/ir/text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>

#include "plait/core/error.h"

namespace plait::ir {
namespace {

constexpr int kDeepest = 200;
constexpr uint64_t kOrdinaryNan = 0x7ff8000000000000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c) || c == '.'; }
bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

size_t end_of_name(std::string_view text, size_t position) {
  while (position < text.size() && continues_name(text[position])) ++position;
  return position;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// What may stand in a comment as it is, and be found again.
bool is_plain_file(std::string_view file) {
  return !file.empty() && file.front() != '"' && std::all_of(file.begin(), file.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '\x7f';
  });
}

struct FileAndLine {
  std::string_view file;
  int64_t line = -1;  // none was given
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

// "program+0x1f3a": where there is no debug information.
bool is_address(std::string_view text) {
  const size_t plus = text.rfind("+0x");
  if (plus == std::string_view::npos || plus == 0) return false;
  const std::string_view digits = text.substr(plus + 3);
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), is_hexadecimal);
}

char letter_of_escape(char c) {
  switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case '"': return '"';
    case '\\': return '\\';
    default: return 0;
  }
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && begins_name(text[0]) && end_of_name(text, 0) == text.size();
}

// ---- The cursor.

void TextReader::skip_space() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (is_blank(c) || c == '\n') {
      ++position_;
    } else if (c == ';') {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else {
      return;
    }
  }
}

bool TextReader::at_end() {
  skip_space();
  return position_ == text_.size();
}

bool TextReader::next_is(std::string_view symbol) {
  const size_t start = position_;
  const bool found = accept(symbol);
  position_ = start;
  return found;
}

bool TextReader::next_in_line_is(std::string_view symbol) {
  size_t at = position_;
  while (at < text_.size() && is_blank(text_[at])) ++at;
  return text_.substr(at).starts_with(symbol);
}

bool TextReader::next_adjacent_is(std::string_view symbol) const {
  return text_.substr(position_).starts_with(symbol);
}

std::string_view TextReader::rest_of_line() const {
  size_t end = position_;
  while (end < text_.size() && text_[end] != '\n' && text_[end] != ';') ++end;
  while (end > position_ && is_blank(text_[end - 1])) --end;
  return text_.substr(position_, end - position_);
}

bool TextReader::accept(std::string_view symbol) {
  const size_t start = position_;
  skip_space();
  if (text_.substr(position_).starts_with(symbol)) {
    position_ += symbol.size();
    return true;
  }
  position_ = start;
  return false;
}

void TextReader::expect(std::string_view symbol) {
  if (!accept(symbol)) fail_expecting(fmt::format("'{}'", symbol));
}

bool TextReader::accept_word(std::string_view word) {
  const size_t start = position_;
  skip_space();
  if (text_.substr(position_).starts_with(word) &&
      end_of_name(text_, position_) == position_ + word.size()) {
    position_ += word.size();
    return true;
  }
  position_ = start;
  return false;
}

bool TextReader::next_is_word(std::string_view word) {
  const size_t start = position_;
  const bool found = accept_word(word);
  position_ = start;
  return found;
}

bool TextReader::next_is_name() {
  const size_t start = position_;
  skip_space();
  const bool found = position_ < text_.size() && begins_name(text_[position_]);
  position_ = start;
  return found;
}

std::string_view TextReader::name() {
  if (!next_is_name()) fail_expecting("a name");
  skip_space();
  const size_t begin = position_;
  position_ = end_of_name(text_, begin);
  return text_.substr(begin, position_ - begin);
}

std::string_view TextReader::value_label() {
  if (position_ < text_.size() && begins_name(text_[position_])) return name();
  const size_t begin = position_;
  size_t end = begin;
  while (end < text_.size() && is_digit(text_[end])) ++end;
  const bool is_number = end > begin && (text_[begin] != '0' || end == begin + 1);
  if (!is_number || (end < text_.size() && continues_name(text_[end]))) {
    fail_expecting("a value's name or number after %");
  }
  position_ = end;
  return text_.substr(begin, end - begin);
}

void TextReader::skip_quoted() {
  for (++position_; position_ < text_.size(); ++position_) {
    if (text_[position_] == '"') {
      ++position_;
      return;
    }
    if (text_[position_] == '\\') ++position_;
  }
  position_ = text_.size();
}

void TextReader::skip_braces(size_t opening) {
  size_t open = 1;
  while ((position_ = std::min(text_.find_first_of("{}\";", position_), text_.size())) <
         text_.size()) {
    switch (text_[position_]) {
      case ';': skip_space(); continue;
      case '"': skip_quoted(); continue;
      case '{': ++open; break;
      default: --open; break;
    }
    ++position_;
    if (open == 0) return;
  }
  fail_at(opening, "this '{' has no '}'");
}

TextReader::Nesting::Nesting(TextReader& reader) : reader_(reader) {
  if (reader.depth_ >= kDeepest) reader.fail("nested deeper than {} levels", kDeepest);
  ++reader.depth_;
}

// ---- Numbers, strings, and what other parsers read.

int64_t TextReader::integer() {
  skip_space();
  int64_t value = 0;
  const char* begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) {
    fail("{} is beyond 64 bits", std::string_view(begin, end));
  }
  if (error != std::errc()) fail_expecting("a whole number");
  position_ += static_cast<size_t>(end - begin);
  return value;
}

uint64_t TextReader::hexadecimal(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail("expected {} hexadecimal digits", digits.size());
  }
  return value;
}

double TextReader::real() {
  constexpr size_t kDigits = 16;
  skip_space();
  if (accept("nan:0x")) {
    const double value = std::bit_cast<double>(hexadecimal(text_.substr(position_, kDigits)));
    if (!std::isnan(value)) fail("these are not the bits of a nan");
    position_ += kDigits;
    return value;
  }
  if (accept_word("nan")) return std::bit_cast<double>(kOrdinaryNan);
  if (accept_word("inf")) return HUGE_VAL;
  if (accept("-inf")) return -HUGE_VAL;
  double value = 0;
  const char* begin = text_.data() + position_;
  const bool is_number = position_ < text_.size() && (is_digit(*begin) || *begin == '-');
  if (!is_number) fail_expecting("a number");
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) {
    fail("{} is beyond what an f64 holds", std::string_view(begin, end));
  }
  if (error != std::errc() || !std::isfinite(value)) fail_expecting("a number");
  position_ += static_cast<size_t>(end - begin);
  return value;
}

std::string TextReader::quoted() {
  expect("\"");
  const size_t opening = position_ - 1;
  std::string out;
  while (position_ < text_.size() && text_[position_] != '\n') {
    const char c = text_[position_++];
    if (c == '"') return out;
    if (c != '\\') {
      out += c;
    } else if (position_ < text_.size() && text_[position_] == 'x') {
      out += static_cast<char>(hexadecimal(text_.substr(position_ + 1, 2)));
      position_ += 3;
    } else if (const char letter =
                   position_ < text_.size() ? letter_of_escape(text_[position_]) : 0) {
      out += letter;
      ++position_;
    } else {
      fail_at(position_ - 1, R"(expected \n, \t, \", \\ or \xHH)");
    }
  }
  fail_at(opening, "this string does not end on its line");
}

// Runs a parser that tells the column in the text it is given; on failure once more, on this line
// alone.
template <class Parse>
auto TextReader::parse_with(Parse parse) {
  skip_space();
  size_t end = position_;
  try {
    auto value = parse(text_, end);
    position_ = end;
    return value;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::parse) fail_at(position_, error.message());
  }
  const size_t newline = text_.substr(0, position_).rfind('\n');
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  const size_t length = text_.substr(begin).find('\n');
  size_t place = position_ - begin;
  try {
    parse(text_.substr(begin, length), place);
  } catch (Error& error) {
    if (!error.message().starts_with("column")) fail_at(position_, error.message());
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(begin), '\n');
    error.prepend(fmt::format("line {}, ", line));
    throw;
  }
  fail_at(position_, "this does not end on its line");
}

Dim TextReader::dim() {
  return parse_with(
      [](std::string_view text, size_t& position) { return parse_dim(text, position); });
}

SizeFact TextReader::size_fact() {
  return parse_with(
      [](std::string_view text, size_t& position) { return SizeFact::parse(text, position); });
}

Literal TextReader::literal() {
  return parse_with(
      [](std::string_view text, size_t& position) { return parse_literal(text, position); });
}

Location TextReader::trailing_location() {
  if (!next_in_line_is(";")) return {};
  const size_t begin = text_.find(';', position_) + 1;
  position_ = std::min(text_.find('\n', begin), text_.size());
  const std::string_view comment = trim(text_.substr(begin, position_ - begin));
  const auto [place, is_new] = places_.try_emplace(comment);
  if (is_new) place->second = parse_location(comment);
  return place->second;
}

// ---- Errors.

std::string TextReader::line_and_column(size_t position) const {
  const std::string_view before = text_.substr(0, position);
  const size_t newline = before.rfind('\n');
  const size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("line {}, column {}", 1 + std::count(before.begin(), before.end(), '\n'),
                     column);
}

void TextReader::fail_at(size_t position, std::string_view message) const {
  throw ParseError("{}: {}", line_and_column(position), message);
}

void TextReader::fail_expecting(std::string_view what) {
  const std::string instead = found();
  fail("expected {}, found {}", what, instead);
}

std::string TextReader::found() {
  constexpr size_t kMost = 40;
  if (at_end()) return "the end of the text";
  const size_t end = end_of_name(text_, position_);
  const std::string_view token =
      text_.substr(position_, std::clamp<size_t>(end - position_, 1, kMost));
  std::string out;
  print_quoted(out, token);
  out.front() = out.back() = '\'';
  return out;
}

// ---- Locations.

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

// ---- Printing.

void print_quoted(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (code < ' ' || code == 0x7f) {
      out += "\\x";
      out += kDigits[code >> 4];
      out += kDigits[code & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void print_number(std::string& out, int64_t value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
}

void print_real(std::string& out, double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  if (std::isnan(value)) {
    out += bits == kOrdinaryNan ? "nan" : fmt::format("nan:0x{:016x}", bits);
    return;
  }
  char digits[32];
  out.append(digits, std::to_chars(digits, std::end(digits), value).ptr);
}

}  // namespace plait::ir
