#include "plait/io/inside/utf8.h"

#include <cstdint>
#include <cstring>

namespace plait {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080;

// The second byte of a sequence decides on overlong sequences, surrogates and the last character.
struct Utf8Lead {
  int length;  // 0: not the first byte of a character
  unsigned char least, most;
};

Utf8Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// The length of the character at the beginning; 0 if it is invalid.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const Utf8Lead lead = lead_of(byte(0));
  const auto length = static_cast<size_t>(lead.length);
  if (length > text.size()) return 0;
  if (length > 1 && (byte(1) < lead.least || byte(1) > lead.most)) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

size_t valid_utf8_bytes(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    uint64_t eight = 0;
    if (i + sizeof(eight) <= text.size()) {
      std::memcpy(&eight, text.data() + i, sizeof(eight));
      if ((eight & kHighBits) == 0) {
        i += sizeof(eight);
        continue;
      }
    }
    const size_t length = character_bytes(text.substr(i));
    if (length == 0) break;
    i += length;
  }
  return i;
}

}  // namespace plait
