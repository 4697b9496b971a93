#include "plait/text/inside/word_cache.h"

#include <algorithm>

namespace plait::text {

bool WordCache::find(std::string_view word, uint64_t hash, std::vector<ModelToken>& out) const {
  if (slots_.empty()) return false;
  for (size_t slot = hash % kSlots; slots_[slot] != 0; slot = (slot + 1) % kSlots) {
    const Word& each = words_[slots_[slot] - 1];
    if (each.hash != hash || std::string_view(characters_).substr(each.begin, each.size) != word) {
      continue;
    }
    const auto first = tokens_.begin() + each.first_token;
    out.insert(out.end(), first, first + each.tokens);
    return true;
  }
  return false;
}

void WordCache::insert(std::string_view word, uint64_t hash, std::span<const ModelToken> tokens) {
  if (slots_.empty() || words_.size() >= kMostWords || tokens_.size() >= kMostTokens ||
      characters_.size() >= kMostCharacters) {
    slots_.assign(kSlots, 0);
    words_.clear();
    characters_.clear();
    tokens_.clear();
  }
  words_.push_back({hash, static_cast<uint32_t>(characters_.size()),
                    static_cast<uint32_t>(word.size()), static_cast<uint32_t>(tokens_.size()),
                    static_cast<uint32_t>(tokens.size())});
  characters_ += word;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  size_t slot = hash % kSlots;
  while (slots_[slot] != 0) slot = (slot + 1) % kSlots;
  slots_[slot] = static_cast<uint32_t>(words_.size());
}

}  // namespace plait::text
