// UTF-8, one character at a time. Texts are checked once, where they come in; what follows relies
// on that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plait::text {

inline constexpr char32_t kLastCharacter = 0x10ffff;
inline constexpr char32_t kReplacementCharacter = 0xfffd;  // stands for bytes that are not UTF-8

inline bool is_ascii(unsigned char byte) { return byte < 0x80; }
inline bool is_continuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

// Bytes of the character that begins with this byte.
inline size_t utf8_size(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}
inline size_t utf8_size(char32_t c) {
  if (c < 0x80) return 1;
  if (c < 0x800) return 2;
  return c < 0x10000 ? 3 : 4;
}

// The character at `at`, which is its first byte.
inline char32_t character_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const char32_t first = byte(0);
  if (first < 0x80) return first;
  if (first < 0xe0) return (first & 0x1f) << 6 | (byte(1) & 0x3f);
  if (first < 0xf0) return (first & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
  return (first & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
}

// Where the character before `at` begins; at > 0.
inline size_t character_before(std::string_view text, size_t at) {
  do {
    --at;
  } while (at > 0 && is_continuation(static_cast<unsigned char>(text[at])));
  return at;
}

void append_utf8(std::string& out, char32_t c);
std::u32string characters_of_text(std::string_view text);
size_t character_count(std::string_view text);
bool is_all_ascii(std::string_view text);

// Throws a ValueError that names the byte.
void expect_utf8(std::string_view text, std::string_view what);
// Appends the bytes, with U+FFFD instead of each maximal part of a character that is not UTF-8.
void append_with_replacements(std::string& out, std::string_view bytes);

}  // namespace plait::text
