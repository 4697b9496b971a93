// A cache of the tokens of recent words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/inside/vocabulary.h"

namespace plait::text {

// A token that a model found in a word: an id for a part of its bytes.
struct ModelToken {
  uint32_t id;
  uint32_t begin, end;

  friend bool operator==(const ModelToken&, const ModelToken&) = default;
};

// Bounded: when it is full, it forgets everything.
class WordCache {
 public:
  static constexpr size_t kLongestWord = 256;

  // True if the word is there: appends its tokens.
  bool find(std::string_view word, uint64_t hash, std::vector<ModelToken>& out) const;
  void insert(std::string_view word, uint64_t hash, std::span<const ModelToken> tokens);

 private:
  static constexpr size_t kSlots = size_t{1} << 15, kMostWords = kSlots / 2;
  static constexpr size_t kMostTokens = size_t{1} << 18, kMostCharacters = size_t{1} << 20;

  struct Word {
    uint64_t hash;
    uint32_t begin, size;
    uint32_t first_token, tokens;
  };

  std::vector<uint32_t> slots_;  // numbers of words, plus 1
  std::vector<Word> words_;
  std::string characters_;
  std::vector<ModelToken> tokens_;
};

}  // namespace plait::text
