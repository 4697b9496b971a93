// GPT-2's alphabet: a visible character for each byte. Bytes that are visible in Latin-1 stand for
// themselves, the others are U+0100 and following.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plait::text {

char32_t character_of_byte(uint8_t byte);
// Appends the bytes of characters. False if one is not of the alphabet; then what is appended is
// undefined.
bool append_bytes_of_characters(std::string& out, std::string_view text);

}  // namespace plait::text
