// The tokens of a model: their texts and ids, each found by the other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace plait::text {

// A hash of a short text, for tables in memory.
inline uint64_t text_hash(std::string_view text) {
  constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15;
  uint64_t hash = text.size() * kMultiplier;
  size_t at = 0;
  const auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  };
  for (; at + 8 <= text.size(); at += 8) {
    uint64_t word = 0;
    __builtin_memcpy(&word, text.data() + at, 8);
    mix(word);
  }
  uint64_t rest = 0;
  for (size_t i = 0; at + i < text.size(); ++i) {
    rest |= uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
  }
  mix(rest);
  return hash ^ hash >> 29;
}

class Vocabulary {
 public:
  void reserve(size_t tokens, size_t bytes);
  // Adds a token. If the text is there already, it has this id from now on; of several tokens with
  // one id, the last one is its text.
  void add(std::string_view text, uint32_t id);

  size_t size() const { return distinct_; }  // different texts
  std::optional<uint32_t> find(std::string_view text) const {
    return find_hashed(text, text_hash(text));
  }
  std::string_view text(uint32_t id) const { return text_if_any(id).value_or(""); }
  std::optional<std::string_view> text_if_any(uint32_t id) const {
    const uint32_t place = place_of(id);
    return place == kNowhere ? std::nullopt : std::optional(text_of(tokens_[place]));
  }

  // All tokens with different texts, by id; those with one id in the order in which they were
  // added.
  struct Entry {
    uint32_t id;
    std::string_view text;
  };
  std::vector<Entry> entries() const;

 private:
  static constexpr uint32_t kNowhere = UINT32_MAX;
  struct Token {
    uint64_t begin;
    uint32_t size, id;
  };

  std::string_view text_of(const Token& token) const {
    return std::string_view(characters_).substr(token.begin, token.size);
  }
  std::optional<uint32_t> find_hashed(std::string_view text, uint64_t hash) const;
  size_t slot_of(std::string_view text, uint64_t hash) const;
  void grow();
  void set_place(uint32_t id, uint32_t place);
  uint32_t place_of(uint32_t id) const;

  std::string characters_;
  std::vector<Token> tokens_;    // in the order in which they were added
  std::vector<uint32_t> slots_;  // a hash table of places in tokens_; a power of two
  size_t distinct_ = 0;
  std::vector<uint32_t> places_;  // by id, while ids are dense
  std::unordered_map<uint32_t, uint32_t>
      other_places_;  // other places of ids far beyond the number of tokens
};

}  // namespace plait::text
