#include "plait/text/inside/byte_alphabet.h"

#include <array>

#include "plait/text/inside/code_points.h"

namespace plait::text {
namespace {

constexpr bool is_visible(char32_t c) {
  return (c >= '!' && c <= '~') || (c >= 0xa1 && c <= 0xac) || (c >= 0xae && c <= 0xff);
}

struct ByteAlphabet {
  std::array<char32_t, 256> characters = {};
  std::array<int16_t, 512> bytes = {};  // -1 for other characters
};
constexpr ByteAlphabet kAlphabet = [] {
  ByteAlphabet alphabet;
  alphabet.bytes.fill(-1);
  char32_t next = 0x100;
  for (char32_t byte = 0; byte < 256; ++byte) {
    alphabet.characters[byte] = is_visible(byte) ? byte : next++;
    alphabet.bytes[alphabet.characters[byte]] = static_cast<int16_t>(byte);
  }
  return alphabet;
}();

}  // namespace

char32_t character_of_byte(uint8_t byte) { return kAlphabet.characters[byte]; }

std::optional<uint8_t> byte_of_character(char32_t c) {
  if (c >= kAlphabet.bytes.size() || kAlphabet.bytes[c] < 0) return std::nullopt;
  return static_cast<uint8_t>(kAlphabet.bytes[c]);
}

std::optional<std::string> bytes_of_characters(std::string_view text) {
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = character_at(text, at);
    const auto byte = byte_of_character(c);
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    at += utf8_size(c);
  }
  return bytes;
}

}  // namespace plait::text
