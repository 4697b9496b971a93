// WordPiece: takes the longest token that a word begins with, again and again.
#pragma once

#include "plait/text/inside/models/byte_trie.h"
#include "plait/text/inside/models/model.h"

namespace plait::text {

struct WordPieceOptions {
  std::string unknown = "[UNK]";
  std::string prefix = "##";    // prefix of tokens that are not at the beginning of a word
  uint32_t longest_word = 100;  // characters; a longer one is unknown
};

class WordPiece : public Model {
 public:
  WordPiece(Vocabulary vocabulary, WordPieceOptions options);
  static ModelPointer read(JsonFields& fields);
  const WordPieceOptions& options() const { return options_; }

  void tokenize(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& out) const override;
  void write(JsonWriter& out) const override;

 private:
  void add_unknown(std::string_view word, std::vector<ModelToken>& out) const;

  WordPieceOptions options_;
  ByteTrie first_, continuing_;
  std::optional<uint32_t> unknown_id_;
};

}  // namespace plait::text
