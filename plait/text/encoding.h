// The tokens of a text, or of a pair of texts, with where they come from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plait::text {

class TokenTexts;

// The end of an encoding that is cut or padded.
enum class Side : uint8_t { left, right };

// All vectors have one element for each token.
struct Encoding {
  // A part of a text; of which one is in sequence_ids(). Special tokens and padding have {0, 0}.
  using Offsets = std::pair<uint32_t, uint32_t>;
  static constexpr uint32_t kNoWord = UINT32_MAX;

  std::vector<uint32_t> ids;
  std::vector<uint32_t> type_ids;  // 0 or 1, of the text, unless the tokenizer says otherwise
  std::vector<Offsets> offsets;
  std::vector<uint32_t> words;  // the number of the part between splits; kNoWord if there is none
  std::vector<uint32_t> special_tokens_mask;  // 1 for tokens that are not from a text
  std::vector<uint32_t> attention_mask;       // 0 for padding
  // Tokens that truncation has cut off, in pieces of the same length. They overlap by the stride.
  std::vector<Encoding> overflowing;

  size_t size() const { return ids.size(); }

  // The text of each token: as in the vocabulary, but unknown ones of Unigram as in the input.
  std::vector<std::string> tokens() const;
  std::string token(size_t index) const;
  // 0 or 1: the text that each token is from. -1 for special tokens and padding.
  std::vector<int32_t> sequence_ids() const;
  size_t sequence_count() const;

  // The first token that contains this character (or byte, if offsets are in bytes) of a text.
  std::optional<size_t> char_to_token(size_t position, size_t sequence = 0) const;
  // The first token of a word and the one after the last.
  std::optional<Offsets> word_to_tokens(uint32_t word, size_t sequence = 0) const;

  // ---- For the tokenizer.

  // The tokens of a text, by its number.
  struct Sequence {
    uint32_t number;
    Offsets tokens;

    friend bool operator==(const Sequence&, const Sequence&) = default;
  };
  std::vector<Sequence> sequences;    // empty: all tokens are of one text
  std::vector<uint32_t> token_names;  // for texts; empty if all are as in the vocabulary
  std::shared_ptr<const TokenTexts> texts;

  Sequence sequence(size_t number) const;
};

}  // namespace plait::text
