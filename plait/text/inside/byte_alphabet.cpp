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

bool append_bytes_of_characters(std::string& out, std::string_view text) {
  const size_t before = out.size();
  out.resize(before + text.size());
  char* next = out.data() + before;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = character_at(text, at);
    if (c >= kAlphabet.bytes.size() || kAlphabet.bytes[c] < 0) return false;
    *next++ = static_cast<char>(kAlphabet.bytes[c]);
    at += c < 0x80 ? 1 : 2;  // no character of the alphabet has more
  }
  out.resize(static_cast<size_t>(next - out.data()));
  return true;
}

}  // namespace plait::text
