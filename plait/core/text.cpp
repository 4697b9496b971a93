#include "plait/core/text.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <vector>

#include "plait/core/error.h"

namespace plait {
namespace {

// The edit distance: insertions, deletions and replacements of letters.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

size_t most_edits(std::string_view name) { return std::max<size_t>(1, name.size() / 3); }

constexpr int kDeepest = 200;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

size_t end_of_name(std::string_view text, size_t position) {
  while (position < text.size() && continues_name(text[position])) ++position;
  return position;
}

// In UTF-8.
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }
bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// The end of a name as a user reads it, with letters that names may not have.
size_t end_of_word(std::string_view text, size_t position) {
  while (position < text.size() && (continues_name(text[position]) || !is_ascii(text[position]))) {
    ++position;
  }
  return position;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
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

size_t end_of_character(std::string_view text, size_t position) {
  do {
    ++position;
  } while (position < text.size() && continues_character(text[position]));
  return position;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || is_digit(c) || c == '.'; }
bool is_name(std::string_view text) {
  return !text.empty() && begins_name(text[0]) && end_of_name(text, 0) == text.size();
}

// ---- Position.

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

std::string_view TextReader::rest_of_line() const {
  size_t end = position_;
  while (end < text_.size() && text_[end] != '\n' && text_[end] != ';') ++end;
  while (end > position_ && is_blank(text_[end - 1])) --end;
  return text_.substr(position_, end - position_);
}

bool TextReader::accept(std::string_view symbol) {
  const size_t start = position_;
  skip_space();
  if (rest().starts_with(symbol)) {
    position_ += symbol.size();
    return true;
  }
  position_ = start;
  return false;
}

void TextReader::expect(std::string_view symbol) {
  if (!accept(symbol)) fail_expecting(fmt::format("'{}'", symbol));
}

bool TextReader::next_is(std::string_view symbol) {
  const size_t start = position_;
  const bool found = accept(symbol);
  position_ = start;
  return found;
}

bool TextReader::next_in_line_is(std::string_view symbol) const {
  size_t at = position_;
  while (at < text_.size() && is_blank(text_[at])) ++at;
  return text_.substr(at).starts_with(symbol);
}

bool TextReader::accept_word(std::string_view word) {
  const size_t start = position_;
  skip_space();
  if (rest().starts_with(word) && end_of_word(text_, position_) == position_ + word.size()) {
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
  const bool found = begins_name(next());
  position_ = start;
  return found;
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
  fail_at(opening, "this '{' has no matching '}'");
}

TextReader::Nesting::Nesting(TextReader& reader) : reader_(reader) {
  if (reader.depth_ >= kDeepest) reader.fail("nested deeper than {} levels", kDeepest);
  ++reader.depth_;
}

// ---- Parsing.

std::string_view TextReader::name() {
  skip_space();
  if (!begins_name(next())) fail_expecting("a name");
  const size_t begin = position_, end = end_of_name(text_, begin);
  if (end != end_of_word(text_, begin)) fail_expecting("a name of ASCII letters");
  position_ = end;
  return text_.substr(begin, end - begin);
}

int64_t TextReader::integer() {
  skip_space();
  int64_t value = 0;
  const char* begin = text_.data() + position_;
  const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) {
    fail("{} does not fit into 64 bits", std::string_view(begin, end));
  }
  if (error != std::errc()) fail_expecting("an integer");
  position_ += static_cast<size_t>(end - begin);
  return value;
}

uint64_t TextReader::hexadecimal(std::string_view digits) const {
  uint64_t value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    fail("expected {} hexadecimal digits", digits.size());
  }
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
    } else if (next() == 'x') {
      out += static_cast<char>(hexadecimal(text_.substr(position_ + 1, 2)));
      position_ += 3;
    } else if (const char letter = letter_of_escape(next())) {
      out += letter;
      ++position_;
    } else {
      fail_at(position_ - 1, R"(expected \n, \t, \", \\ or \xHH)");
    }
  }
  fail_at(opening, "this string is not closed on its line");
}

std::string_view TextReader::comment() {
  if (!next_in_line_is(";")) return {};
  const size_t begin = text_.find(';', position_) + 1;
  position_ = std::min(text_.find('\n', begin), text_.size());
  return trim(text_.substr(begin, position_ - begin));
}

// ---- Errors.

std::string TextReader::line_and_column(size_t position) const {
  const std::string_view before = text_.substr(0, position);
  const size_t newline = before.rfind('\n');
  const std::string_view line = before.substr(newline == std::string_view::npos ? 0 : newline + 1);
  const auto column = line.size() - std::ranges::count_if(line, continues_character) + 1;
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
  size_t end = end_of_word(text_, position_);
  if (end == position_) end = end_of_character(text_, position_);
  if (end - position_ > kMost) {
    end = position_ + kMost;
    while (end > position_ + 1 && continues_character(text_[end])) --end;
  }
  const std::string_view token = text_.substr(position_, end - position_);
  std::string out;
  print_quoted(out, token);
  out.front() = out.back() = '\'';
  return out;
}

// ---- Printing.

std::string in_quotes(std::string_view text) {
  std::string result;
  print_quoted(result, text);
  return result;
}

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

bool are_similar(std::string_view a, std::string_view b) {
  return edit_distance(a, b) <= most_edits(a);
}

std::string nearest_name(std::string_view name, std::span<const std::string> names) {
  std::string nearest;
  size_t least = most_edits(name) + 1;
  for (const std::string& candidate : names) {
    const size_t distance = edit_distance(name, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace plait
