// Tokens beside those of the model, which are found in a text before it is split.
#pragma once

#include <bitset>
#include <functional>
#include <map>

#include "plait/text/added_token.h"
#include "plait/text/inside/models/byte_trie.h"
#include "plait/text/inside/models/model.h"
#include "plait/text/inside/stages/normalizer.h"

namespace plait::text {

class AddedTokens {
 public:
  // Adds tokens after those that are there. One that the model has keeps its id; others get the
  // next.
  void add(const std::vector<AddedToken>& tokens, const Model& model, const Normalizer* normalizer);

  std::optional<uint32_t> find(std::string_view content) const;
  // The text of a token: normalized if it is found in normalized text.
  const std::string* text(uint32_t id) const;
  // True if its text is that of a special token, which the text of a normalized one may not be.
  bool is_special(uint32_t id) const;
  bool is_empty() const { return tokens_.empty(); }
  const std::map<uint32_t, AddedToken>& tokens() const { return tokens_; }
  const std::unordered_map<std::string, uint32_t>& ids() const { return ids_; }

  // A part of a text: an added token, or what is between.
  struct Part {
    Span part;
    uint32_t token = UINT32_MAX;  // UINT32_MAX if it is none
  };
  // Divides a text at tokens that are found in normalized text, or at the others.
  enum class Kind : uint8_t { as_written, normalized };
  std::vector<Part> divide(std::string_view text, Kind kind, bool skips_special) const;
  bool has(Kind kind) const { return !searches_[static_cast<size_t>(kind)].is_empty; }

  void write(JsonWriter& out) const;

 private:
  // Finds the longest token at each place.
  struct Search {
    ByteTrie trie;
    std::bitset<256> first_bytes;
    bool is_empty = true;
  };

  void set_up_searches();
  std::optional<Span> extended(const AddedToken& token, std::string_view text, Span match,
                               uint32_t done) const;

  static constexpr size_t kFilterSize = 4096;

  std::map<uint32_t, AddedToken> tokens_;
  std::bitset<kFilterSize> filter_;                // false: no token has an id with this remainder
  std::unordered_map<std::string, uint32_t> ids_;  // by content
  std::unordered_map<uint32_t, std::string> normalized_;  // where that differs from the content
  std::array<Search, 2> searches_;
};

AddedToken read_added_token(JsonFields& fields);

}  // namespace plait::text
