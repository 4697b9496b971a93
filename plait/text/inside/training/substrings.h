// The substrings of words that occur several times, with different continuations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/core/function_ref.h"

namespace plait::text {

// `words` are in one text, each with a 0 at its end. Calls found(begin, size, count) for each
// substring of 2 to `longest` characters that occurs `count` > 1 times and is followed by at least
// two different characters, the 0 included: the inner nodes of the suffix tree.
void for_each_repeated_substring(const std::u32string& words, size_t longest,
                                 FunctionRef<void(size_t, size_t, uint32_t)> found);

}  // namespace plait::text
