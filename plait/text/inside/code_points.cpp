#include "plait/text/inside/code_points.h"

#include <cstring>

#include "plait/core/error.h"
#include "plait/io/inside/utf8.h"

namespace plait::text {
namespace {

unsigned char byte_of(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// The range of the second byte, which excludes overlong forms, surrogates and what is past
// U+10FFFF.
struct SecondByte {
  unsigned char least = 0x80, greatest = 0xbf;
};
SecondByte second_byte_after(unsigned char first) {
  switch (first) {
    case 0xe0: return {.least = 0xa0};
    case 0xed: return {.greatest = 0x9f};
    case 0xf0: return {.least = 0x90};
    case 0xf4: return {.greatest = 0x8f};
    default: return {};
  }
}

struct Sequence {
  size_t size;  // size of the character, or of what could have begun one
  bool is_whole;
};

// The character or the broken part of one at `at`, where a byte beyond ASCII is.
Sequence sequence_at(std::string_view text, size_t at) {
  const unsigned char first = byte_of(text, at);
  if (first < 0xc2 || first > 0xf4) return {1, false};
  const size_t size = utf8_size(first);
  const SecondByte second = second_byte_after(first);
  for (size_t i = 1; i < size; ++i) {
    if (at + i >= text.size()) return {i, false};
    const unsigned char byte = byte_of(text, at + i);
    const bool fits =
        i == 1 ? byte >= second.least && byte <= second.greatest : is_continuation(byte);
    if (!fits) return {i, false};
  }
  return {size, true};
}

// Bytes of ASCII from `at` on.
size_t ascii_run(std::string_view text, size_t at) {
  const size_t begin = at;
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080) != 0) break;
  }
  while (at < text.size() && is_ascii(byte_of(text, at))) ++at;
  return at - begin;
}

}  // namespace

void append_utf8(std::string& out, char32_t c) {
  const auto push = [&](char32_t byte) { out += static_cast<char>(byte); };
  if (c < 0x80) {
    push(c);
  } else if (c < 0x800) {
    push(0xc0 | c >> 6);
    push(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    push(0xe0 | c >> 12);
    push(0x80 | (c >> 6 & 0x3f));
    push(0x80 | (c & 0x3f));
  } else {
    push(0xf0 | c >> 18);
    push(0x80 | (c >> 12 & 0x3f));
    push(0x80 | (c >> 6 & 0x3f));
    push(0x80 | (c & 0x3f));
  }
}

std::u32string characters_of_text(std::string_view text) {
  std::u32string characters;
  for (size_t at = 0; at < text.size(); at += utf8_size(byte_of(text, at))) {
    characters += character_at(text, at);
  }
  return characters;
}

size_t character_count(std::string_view text) {
  size_t count = 0;
  for (const char byte : text) count += !is_continuation(static_cast<unsigned char>(byte));
  return count;
}

bool is_all_ascii(std::string_view text) { return ascii_run(text, 0) == text.size(); }

void expect_utf8(std::string_view text, std::string_view what) {
  const size_t valid = valid_utf8_bytes(text);
  if (valid == text.size()) return;
  throw ValueError("{} is not UTF-8: byte {} is 0x{:02x}", what, valid, byte_of(text, valid))
      .hint("decode the text first, from Latin-1 for example");
}

void append_with_replacements(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t valid = valid_utf8_bytes(bytes);
    out += bytes.substr(0, valid);
    bytes.remove_prefix(valid);
    if (bytes.empty()) return;
    append_utf8(out, kReplacementCharacter);
    bytes.remove_prefix(sequence_at(bytes, 0).size);
  }
}

}  // namespace plait::text
