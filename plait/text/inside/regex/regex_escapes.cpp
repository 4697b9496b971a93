#include "plait/text/inside/regex/regex_escapes.h"

#include <algorithm>
#include <array>
#include <string>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/utf8.h"
#include "plait/text/inside/code_points.h"

namespace plait::text {
namespace {

struct NamedCategories {
  std::string_view name;  // in lowercase
  Categories categories;
};

using enum Category;
constexpr NamedCategories kNamedCategories[] = {
    {"l", kLetters},
    {"letter", kLetters},
    {"m", kMarks},
    {"mark", kMarks},
    {"n", kNumbers},
    {"number", kNumbers},
    {"p", kPunctuation},
    {"punctuation", kPunctuation},
    {"s", kSymbols},
    {"symbol", kSymbols},
    {"z", kSeparators},
    {"separator", kSeparators},
    {"c", kOthers},
    {"other", kOthers},
    {"lc", categories(Lu, Ll, Lt)},
    {"cn", categories(Cn)},
    {"lu", categories(Lu)},
    {"ll", categories(Ll)},
    {"lt", categories(Lt)},
    {"lm", categories(Lm)},
    {"lo", categories(Lo)},
    {"mn", categories(Mn)},
    {"mc", categories(Mc)},
    {"me", categories(Me)},
    {"nd", categories(Nd)},
    {"nl", categories(Nl)},
    {"no", categories(No)},
    {"pc", categories(Pc)},
    {"pd", categories(Pd)},
    {"ps", categories(Ps)},
    {"pe", categories(Pe)},
    {"pi", categories(Pi)},
    {"pf", categories(Pf)},
    {"po", categories(Po)},
    {"sm", categories(Sm)},
    {"sc", categories(Sc)},
    {"sk", categories(Sk)},
    {"so", categories(So)},
    {"zs", categories(Zs)},
    {"zl", categories(Zl)},
    {"zp", categories(Zp)},
    {"cc", categories(Cc)},
    {"cf", categories(Cf)},
    {"co", categories(Co)},
};

// A name as Oniguruma compares it: without case, spaces, _ and -.
std::string compared(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    result += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return result;
}

std::optional<CharacterSet> named_set(std::string_view name) {
  const std::string key = compared(name);
  CharacterSet set;
  for (const NamedCategories& each : kNamedCategories) {
    if (each.name != key) continue;
    set.add_categories(each.categories);
    return set;
  }
  for (const std::string_view script : {"Han", "Hiragana", "Katakana", "Hangul", "Thai"}) {
    if (compared(script) != key) continue;
    for (const CharacterRange& range : script_ranges(script)) set.add(range);
    return set;
  }
  return std::nullopt;
}

constexpr std::array<std::pair<char, char32_t>, 7> kControlEscapes = {
    {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'f', '\f'}, {'v', '\v'}, {'a', '\a'}, {'e', 0x1b}}};

}  // namespace

void RegexReader::expect_utf8() const {
  if (!is_valid_utf8(pattern_)) {
    throw ParseError("a regular expression is not UTF-8");
  }
}

void RegexReader::fail(std::string_view why) const {
  throw ParseError("the regular expression {}: {}, before byte {}", in_quotes(pattern_), why, at_);
}

bool RegexReader::accept(std::string_view symbol) {
  if (!next_is(symbol)) return false;
  at_ += symbol.size();
  return true;
}

char32_t RegexReader::character() {
  if (at_end()) fail("it ends too early");
  const char32_t c = character_at(pattern_, at_);
  at_ += utf8_size(c);
  return c;
}

void RegexReader::skip_name() {
  const size_t end = pattern_.find('>', at_);
  if (end == std::string_view::npos || end == at_) fail("the name of a group is malformed");
  const std::string_view name = pattern_.substr(at_, end - at_);
  if (!is_name(name)) fail("the name of a group is malformed");
  at_ = end + 1;
}

std::optional<Assertion> RegexReader::accept_assertion() {
  if (accept("\\A")) return Assertion::text_begin;
  if (accept("\\z")) return Assertion::text_end;
  if (accept("\\Z")) return Assertion::text_end_or_newline;
  if (accept("\\b")) return Assertion::word_boundary;
  if (accept("\\B")) return Assertion::no_word_boundary;
  return std::nullopt;
}

std::optional<CharacterSet> RegexReader::accept_set_escape() {
  const auto negated = [](CharacterSet set) {
    set.negate();
    return set;
  };
  if (accept("\\s")) return white_space_set();
  if (accept("\\S")) return negated(white_space_set());
  if (next_is("\\d") || next_is("\\D") || next_is("\\w") || next_is("\\W")) {
    expect_unicode("\\d and \\w of a regular expression");
  }
  if (accept("\\d")) return digit_set();
  if (accept("\\D")) return negated(digit_set());
  if (accept("\\w")) return word_set();
  if (accept("\\W")) return negated(word_set());
  if (accept("\\h")) return hexadecimal_set();
  if (accept("\\H")) return negated(hexadecimal_set());
  if (accept("\\p{^")) return negated(property());
  if (accept("\\p{")) return property();
  if (accept("\\P{^")) return property();
  if (accept("\\P{")) return negated(property());
  return std::nullopt;
}

CharacterSet RegexReader::property() {
  const size_t end = pattern_.find('}', at_);
  if (end == std::string_view::npos) fail("\\p{ is not closed");
  const std::string_view name = pattern_.substr(at_, end - at_);
  expect_unicode("\\p of a regular expression");
  std::optional<CharacterSet> set = named_set(name);
  if (!set) fail("the property " + in_quotes(name) + " is not supported");
  at_ = end + 1;
  return std::move(*set);
}

char32_t RegexReader::hexadecimal(size_t least, size_t most) {
  char32_t value = 0;
  size_t digits = 0;
  for (; digits < most && !at_end(); ++digits, ++at_) {
    const char c = pattern_[at_];
    const char lower = static_cast<char>(c | 0x20);
    if (is_digit(c)) {
      value = value * 16 + static_cast<char32_t>(c - '0');
    } else if (lower >= 'a' && lower <= 'f') {
      value = value * 16 + static_cast<char32_t>(lower - 'a' + 10);
    } else {
      break;
    }
  }
  const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
  if (digits < least || value > kLastCharacter || is_surrogate) fail("this is not a character");
  return value;
}

char32_t RegexReader::escaped_character() {
  accept("\\");
  if (accept("x{")) {
    const char32_t c = hexadecimal(1, 8);
    if (!accept("}")) fail("\\x{ is not closed");
    return c;
  }
  if (accept("x")) {
    const char32_t c = hexadecimal(1, 2);
    if (c >= 128) fail("\\x of a byte beyond ASCII is not supported; write \\u00e9 or \\x{e9}");
    return c;
  }
  if (accept("u")) return hexadecimal(4, 4);
  const char32_t c = character();
  for (const auto& [name, value] : kControlEscapes) {
    if (c == static_cast<char32_t>(name)) return value;
  }
  if (is_in(kLetters | kNumbers, c) && c < 128) {
    fail("the escape \\" + std::string(1, static_cast<char>(c)) + " is not supported");
  }
  return c;
}

char32_t RegexReader::bracket_character() {
  if (accept("\\b")) return '\b';
  return next_is("\\") ? escaped_character() : character();
}

std::optional<uint32_t> RegexReader::accept_number() {
  constexpr uint32_t kMost = 1'000'000;
  std::optional<uint32_t> value;
  for (; !at_end() && is_digit(pattern_[at_]); ++at_) {
    value = std::min(kMost, value.value_or(0) * 10 + static_cast<uint32_t>(pattern_[at_] - '0'));
  }
  return value;
}

std::optional<std::pair<uint32_t, uint32_t>> RegexReader::accept_interval() {
  const size_t begin = at_;
  if (accept("{")) {
    const auto least = accept_number();
    const bool has_comma = accept(",");
    const auto most = has_comma ? accept_number() : least;
    if ((least || most) && accept("}")) {
      return std::pair(least.value_or(0), most.value_or(kUnbounded));
    }
  }
  at_ = begin;
  return std::nullopt;
}

}  // namespace plait::text
