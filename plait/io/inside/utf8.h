// Validity of UTF-8 in files and names.
#pragma once

#include <cstddef>
#include <string_view>

namespace plait {

// The length of the longest valid beginning: neither overlong sequences, nor surrogates, nor
// characters past U+10FFFF.
size_t valid_utf8_bytes(std::string_view text);

inline bool is_valid_utf8(std::string_view text) { return valid_utf8_bytes(text) == text.size(); }

}  // namespace plait
