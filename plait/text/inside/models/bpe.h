// Byte-pair encoding: the characters of a word are merged, pair by pair, the earliest learned
// first.
#pragma once

#include <array>

#include "plait/text/inside/models/merge_table.h"
#include "plait/text/inside/models/model.h"

namespace plait::text {

struct BpeOptions {
  std::optional<std::string> unknown = {};  // the token for characters without one
  std::optional<std::string> prefix =
      {};  // prefix of symbols that are not at the beginning of a word
  std::optional<std::string> suffix = {};  // suffix of the last symbol
  bool fuses_unknown = false;              // several unknown characters are one token
  bool has_byte_tokens = false;       // unknown characters are tokens like <0xE4>, if all exist
  bool ignores_merges = false;        // a word that is a token is that token, without dropout
  std::optional<float> dropout = {};  // the probability that a merge is left out
};
// Two tokens, by their texts, that become one. Those of lower rank are merged first, from left to
// right if they have one rank.
struct BpeMerge {
  std::string left, right;
  uint32_t rank;
};
using BpeMerges = std::vector<BpeMerge>;  // by rank

// Reads "left right".
BpeMerge read_merge(std::string_view text, uint32_t rank, const std::string& place);

class Bpe : public Model {
 public:
  // ParseError if a merge is of, or makes, what is not in the vocabulary.
  Bpe(Vocabulary vocabulary, const BpeMerges& merges, BpeOptions options);
  static ModelPointer read(JsonFields& fields);

  void tokenize(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& out) const override;
  ModelPointer of_bytes() const override;
  std::optional<float> dropout() const override { return options_.dropout; }
  ModelPointer with_dropout(std::optional<float> dropout) const override;
  const BpeOptions& options() const { return options_; }
  void write(JsonWriter& out) const override;

 private:
  class SymbolReader;
  struct RankedPair {
    uint32_t left, right, rank;
  };

  static constexpr uint32_t kNoSymbol = UINT32_MAX;

  std::optional<uint32_t> symbol_of(std::string_view character) const;
  bool has_draws() const { return options_.dropout.value_or(0) > 0; }
  void set_up_symbols();
  void set_up_parts();

  void tokenize_part(std::string_view part, uint32_t begin, ModelMemory& memory,
                     std::vector<ModelToken>& out) const;
  void tokenize_new(std::string_view part, ModelMemory& memory, std::vector<ModelToken>& out) const;
  void add_symbols(std::string_view part, std::vector<BpeSymbol>& symbols) const;
  void merge_few(std::vector<BpeSymbol>& symbols) const;
  void merge_many(ModelMemory& memory) const;

  BpeOptions options_;
  std::vector<RankedPair> merges_;  // by rank
  MergeTable table_;

  std::array<std::optional<uint32_t>, 128> ascii_symbols_;  // ascii symbols of single characters
  std::array<std::optional<uint32_t>, 256> byte_tokens_;    // <0x00> to <0xFF>
  bool has_plain_symbols_ = false;                          // no prefix or suffix
  // The tokens of other characters below U+10000, up to the last one that has a token; kNoSymbol if
  // it has none.
  std::vector<uint32_t> wide_symbols_;
  bool is_split_at_spaces_ = false;  // no token goes on past a "▁" that follows something else

  // For words of bytes.
  bool is_of_bytes_ = false;
  std::array<uint32_t, 256> byte_symbols_ = {};
  Vocabulary byte_words_;  // the tokens as bytes, if ignores_merges
};

}  // namespace plait::text
