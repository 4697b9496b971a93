// GPT-2's alphabet: a visible character for each byte. Bytes that are visible in Latin-1 stand for
// themselves, the others are U+0100 and following.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plait::text {

char32_t character_of_byte(uint8_t byte);
std::optional<uint8_t> byte_of_character(char32_t c);
// Nothing if a character is not of the alphabet.
std::optional<std::string> bytes_of_characters(std::string_view text);

}  // namespace plait::text
