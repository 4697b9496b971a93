// Unigram: of all segmentations of a word into tokens, the most likely one, as SentencePiece does
// it.
#pragma once

#include <array>

#include "plait/text/inside/aligned_text.h"
#include "plait/text/inside/models/byte_trie.h"
#include "plait/text/inside/models/model.h"

namespace plait::text {

struct ScoredToken {
  std::string text;
  double score;  // the logarithm of its probability
};

class Unigram : public Model {
 public:
  Unigram(std::vector<ScoredToken> tokens, std::optional<uint32_t> unknown_id,
          bool has_byte_tokens);
  static ModelPointer read(JsonFields& fields, bool keeps_scores);
  bool has_byte_tokens() const { return has_byte_tokens_; }

  size_t size() const override { return scores_.size(); }
  void tokenize(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& out) const override;
  bool is_spelt_as_input(uint32_t id) const override { return unknown_id_ == id; }
  void write(JsonWriter& out) const override;

 private:
  void find_paths(std::string_view word, std::vector<BestPath>& paths) const;
  void add_tokens(std::string_view word, const std::vector<BestPath>& paths,
                  std::vector<ModelToken>& out) const;
  void add_piece(std::string_view word, Span piece, std::vector<ModelToken>& out) const;

  std::vector<double> scores_;
  std::optional<uint32_t> unknown_id_;
  bool has_byte_tokens_;
  double unknown_score_ = 0;
  ByteTrie trie_;
  std::array<std::optional<uint32_t>, 256> byte_tokens_;
};

}  // namespace plait::text
