// How the families of byte-level models split text, by the names that GGUF files give them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plait::text {

struct SplitFamily {
  std::vector<std::string_view>
      patterns;                 // one after another, each on the pieces of the one before
  bool ignores_merges = false;  // a word that is a token is that token
};

// Throws a ParseError for a name that is not known.
SplitFamily split_family(const std::string& name);

}  // namespace plait::text
