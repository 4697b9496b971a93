// The scripts of characters, as the pre-tokenizer UnicodeScripts of the reference sees them: by
// Unicode 9, with Han, Hiragana and Katakana as one.
#pragma once

#include <cstdint>

namespace plait::text {

// The number of a script. 0: the character has none, and goes with those before it.
uint8_t script_group(char32_t c);

}  // namespace plait::text
