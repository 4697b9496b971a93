// Differences between versions of Unicode: utf8proc has one, and the tokenizers of the field use
// tables of several. Written from their results for each character.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "plait/text/inside/unicode.h"

namespace plait::text {

struct CharacterRange {
  char32_t first, last;

  friend bool operator==(const CharacterRange&, const CharacterRange&) = default;
};
bool contains(std::span<const CharacterRange> ranges, char32_t c);  // which are in order

inline constexpr char32_t kChangedMark = 0x1171e;  // without width before Unicode 16

// The category in Unicode 16, if Unicode 15 has another one.
std::optional<Category> later_category(char32_t c);
// The lowercase letter of Unicode 17, if Unicode 15 has none.
std::optional<char32_t> later_lowercase(char32_t c);
// Marks, and characters with a decomposition, that Unicode 9 does not have.
bool is_newer_than_unicode_9(char32_t c);
// Marks, punctuation and format characters that Unicode 7 does not have.
bool is_newer_than_unicode_7(char32_t c);

// The characters of a script: Han, Hiragana, Katakana, Hangul or Thai. Empty if it is another one.
std::span<const CharacterRange> script_ranges(std::string_view name);

}  // namespace plait::text
