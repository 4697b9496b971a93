#include "plait/io/inside/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unordered_set>
#include <utility>

#include <locale.h>  // NOLINT(modernize-deprecated-headers): newlocale is POSIX

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/utf8.h"

namespace plait {
namespace {

constexpr int kDeepestJson = 128;
constexpr size_t kManyMembers = 16;  // members of an object: fewer are compared one by one

// Reads a value from the beginning of a text of UTF-8.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Json value();
  void expect_end();

 private:
  [[noreturn]] void fail(std::string_view message) const {
    throw ParseError("byte {}: {}", position_, message);
  }
  // 0, which is not part of any value, at the end.
  char next() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  char next_token();  // after space
  bool accept(char c);
  Json word(std::string_view expected, Json meaning);
  Json object();
  Json list();
  Json number();
  double real(std::string_view text) const;
  void skip_digits();
  std::string string();
  void append_escaped(std::string& out);
  uint32_t hexadecimal();

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

void append_code_point(std::string& out, uint32_t code) {
  const auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      add(0xe0 | code >> 12);
    } else {
      add(0xf0 | code >> 18);
      add(0x80 | (code >> 12 & 0x3f));
    }
    add(0x80 | (code >> 6 & 0x3f));
  }
  add(0x80 | (code & 0x3f));
}

// Finds names that an object has already.
class MemberNames {
 public:
  bool are_new(const Json::Object& members, const std::string& name) {
    if (members.size() < kManyMembers) {
      return std::ranges::find(members, name, &Json::Object::value_type::first) == members.end();
    }
    if (names_.empty()) {
      for (const auto& [each, value] : members) names_.insert(each);
    }
    return names_.insert(name).second;
  }

 private:
  std::unordered_set<std::string> names_;  // if they are many
};

char JsonReader::next_token() {
  while (next() == ' ' || next() == '\n' || next() == '\t' || next() == '\r') ++position_;
  return next();
}

bool JsonReader::accept(char c) {
  if (next_token() != c) return false;
  ++position_;
  return true;
}

Json JsonReader::word(std::string_view expected, Json meaning) {
  if (!text_.substr(position_).starts_with(expected)) fail("expected a value");
  position_ += expected.size();
  return meaning;
}

void JsonReader::expect_end() {
  next_token();
  if (position_ != text_.size()) fail("expected the end of the text");
}

Json JsonReader::value() {
  switch (next_token()) {
    case '{': return object();
    case '[': return list();
    case '"': return Json(string());
    case 't': return word("true", Json(true));
    case 'f': return word("false", Json(false));
    case 'n': return word("null", Json(nullptr));
    default: return number();
  }
}

Json JsonReader::object() {
  ++position_;
  if (++depth_ > kDeepestJson) fail(fmt::format("more than {} levels of nesting", kDeepestJson));
  Json::Object members;
  MemberNames names;
  if (!accept('}')) {
    members.reserve(2);
    do {
      if (next_token() != '"') fail("expected the name of a member");
      std::string name = string();
      if (!names.are_new(members, name)) {
        fail(fmt::format("an object has two members named {}", in_quotes(name)));
      }
      if (!accept(':')) fail("expected ':'");
      members.emplace_back(std::move(name), value());
    } while (accept(','));
    if (!accept('}')) fail("expected ',' or '}'");
  }
  --depth_;
  return Json(std::move(members));
}

Json JsonReader::list() {
  ++position_;
  if (++depth_ > kDeepestJson) fail(fmt::format("more than {} levels of nesting", kDeepestJson));
  Json::List values;
  if (!accept(']')) {
    values.reserve(2);
    do {
      values.push_back(value());
    } while (accept(','));
    if (!accept(']')) fail("expected ',' or ']'");
  }
  --depth_;
  return Json(std::move(values));
}

void JsonReader::skip_digits() {
  if (!is_digit(next())) fail("expected a digit");
  while (is_digit(next())) ++position_;
}

// -0 is a float: there is no such integer.
Json JsonReader::number() {
  const size_t begin = position_;
  if (next() == '-') ++position_;
  if (!is_digit(next())) fail("expected a value");
  if (next() == '0') {
    ++position_;
  } else {
    skip_digits();
  }
  const bool is_integer = next() != '.' && next() != 'e' && next() != 'E';
  if (next() == '.') {
    ++position_;
    skip_digits();
  }
  if (next() == 'e' || next() == 'E') {
    ++position_;
    if (next() == '+' || next() == '-') ++position_;
    skip_digits();
  }
  const std::string_view text = text_.substr(begin, position_ - begin);
  int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (!is_integer || text == "-0") return Json(real(text));
  if (error == std::errc()) return Json(integer);
  real(text);  // fails if it exceeds f64, too
  return Json(Json::BigInteger{std::string(text)});
}

double JsonReader::real(std::string_view text) const {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc()) return number;
  // Out of range: too small, which is 0, or too large. std::strtod would depend on the locale.
  static const locale_t plain = ::newlocale(LC_ALL_MASK, "C", nullptr);
  number = ::strtod_l(std::string(text).c_str(), nullptr, plain);
  if (!std::isfinite(number)) fail("a number that exceeds the range of f64");
  return number;
}

std::string JsonReader::string() {
  ++position_;
  std::string out;
  while (true) {
    const size_t begin = position_;
    while (static_cast<unsigned char>(next()) >= 0x20 && next() != '"' && next() != '\\') {
      ++position_;
    }
    out.append(text_, begin, position_ - begin);
    if (next() == '"') break;
    if (next() != '\\') {
      fail(position_ == text_.size() ? "a string without an end"
                                     : "a control character in a string");
    }
    ++position_;
    append_escaped(out);
  }
  ++position_;
  return out;
}

uint32_t JsonReader::hexadecimal() {
  uint32_t code = 0;
  const char* begin = text_.data() + position_;
  const size_t left = std::min<size_t>(text_.size() - position_, 4);
  const auto [end, error] = std::from_chars(begin, begin + left, code, 16);
  if (error != std::errc() || end != begin + 4) fail("expected four hexadecimal digits");
  position_ += 4;
  return code;
}

// Appends the character that the text after a backslash stands for.
void JsonReader::append_escaped(std::string& out) {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  if (const size_t place = kLetters.find(next()); place != std::string_view::npos) {
    out += kMeant[place];
    ++position_;
    return;
  }
  if (next() != 'u') fail("an unknown escape in a string");
  ++position_;
  uint32_t code = hexadecimal();
  if (code >= 0xd800 && code < 0xe000) {
    const bool is_pair = code < 0xdc00 && text_.substr(position_).starts_with("\\u");
    position_ += is_pair ? 2 : 0;
    const uint32_t second = is_pair ? hexadecimal() : 0;
    if (second < 0xdc00 || second >= 0xe000) fail("half of a pair of surrogates");
    code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
  }
  append_code_point(out, code);
}

template <class T>
constexpr std::string_view kTypeName;
template <>
constexpr std::string_view kTypeName<std::nullptr_t> = "null";
template <>
constexpr std::string_view kTypeName<bool> = "true or false";
template <>
constexpr std::string_view kTypeName<int64_t> = "an integer";
template <>
constexpr std::string_view kTypeName<double> = "a number";
template <>
constexpr std::string_view kTypeName<Json::BigInteger> = "an integer of more than 64 bits";
template <>
constexpr std::string_view kTypeName<std::string> = "a string";
template <>
constexpr std::string_view kTypeName<Json::List> = "a list";
template <>
constexpr std::string_view kTypeName<Json::Object> = "an object";

double rounded(const std::string& digits) {
  double number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string_view type_of(const Json::Value& value) {
  return std::visit([]<class T>(const T&) { return kTypeName<T>; }, value);
}

struct Printer {
  std::string& out;

  void operator()(std::nullptr_t) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(int64_t value) const { print_number(out, value); }
  void operator()(double value) const { out += fmt::format("{}", value); }
  void operator()(const Json::BigInteger& value) const { out += value.digits; }
  void operator()(const std::string& value) const { out += json_string(value); }
  void operator()(const Json::List& list) const {
    char before = '[';
    for (const Json& each : list) {
      out += std::exchange(before, ',');
      out += each.text();
    }
    out += list.empty() ? "[]" : "]";
  }
  void operator()(const Json::Object& object) const {
    char before = '{';
    for (const auto& [name, each] : object) {
      out += std::exchange(before, ',');
      out += json_string(name) + ":" + each.text();
    }
    out += object.empty() ? "{}" : "}";
  }
};

}  // namespace

Json Json::parse(std::string_view text) {
  if (const size_t valid = valid_utf8_bytes(text); valid != text.size()) {
    throw ParseError("byte {}: this is not UTF-8", valid);
  }
  JsonReader reader(text);
  Json result = reader.value();
  reader.expect_end();
  return result;
}

std::string Json::text() const {
  std::string out;
  std::visit(Printer{out}, value_);
  return out;
}

template <class T>
const T& Json::as(std::string_view what) const {
  if (const T* value = std::get_if<T>(&value_)) return *value;
  throw ParseError("{} is {}, expected {}", what, type_of(value_), kTypeName<T>);
}
template const bool& Json::as<bool>(std::string_view) const;
template const int64_t& Json::as<int64_t>(std::string_view) const;
template const Json::BigInteger& Json::as<Json::BigInteger>(std::string_view) const;
template const std::string& Json::as<std::string>(std::string_view) const;
template const Json::List& Json::as<Json::List>(std::string_view) const;
template const Json::Object& Json::as<Json::Object>(std::string_view) const;

double Json::number(std::string_view what) const {
  if (const int64_t* whole = std::get_if<int64_t>(&value_)) return static_cast<double>(*whole);
  if (const double* value = std::get_if<double>(&value_)) return *value;
  if (const auto* big = std::get_if<BigInteger>(&value_)) return rounded(big->digits);
  throw ParseError("{} is {}, expected a number", what, type_of(value_));
}

const Json* Json::find(std::string_view name) const {
  for (const auto& [each, value] : as<Object>(name)) {
    if (each == name) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view name) const {
  if (const Json* found = find(name)) return *found;
  throw ParseError("{} is missing", in_quotes(name));
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

}  // namespace plait
