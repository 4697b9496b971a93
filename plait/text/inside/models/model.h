// A model turns words into tokens.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "plait/text/inside/files/json_fields.h"
#include "plait/text/inside/files/json_writer.h"
#include "plait/text/inside/models/dropout_draws.h"
#include "plait/text/inside/vocabulary.h"
#include "plait/text/inside/word_cache.h"

namespace plait::text {

// A symbol of a word that BPE merges.
struct BpeSymbol {
  uint32_t id;
  uint32_t size;          // bytes; 0 if it was merged into the one before
  int32_t before, after;  // the neighbours; -1 if there is none
};
// A merge that may be done.
struct BpeCandidate {
  uint32_t rank, position, id;
};
// The best path to a position of a word, for Unigram.
struct BestPath {
  double score;
  uint32_t begin, id;
  bool is_reached;
};

// Memory of one call that models keep between words, so that they allocate nothing for each.
struct ModelMemory {
  WordCache cache;
  std::vector<BpeSymbol> symbols;
  std::vector<BpeCandidate> candidates;
  std::vector<BpeCandidate> left_out;  // by dropout, until another merge is done
  std::optional<DropoutDraws> draws;   // if the call has a key
  std::vector<BestPath> paths;
};

class Model {
 public:
  virtual ~Model() = default;

  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Tokens as the reference counts them.
  virtual size_t size() const { return vocabulary_.size(); }

  // Appends the tokens of a word, which is not empty.
  virtual void tokenize(std::string_view word, ModelMemory& memory,
                        std::vector<ModelToken>& out) const = 0;
  // True if tokens with this id are spelt as the input, not as in the vocabulary.
  virtual bool is_spelt_as_input(uint32_t) const { return false; }
  // The same model for words of bytes, which stand for the characters of ByteLevel; null if it
  // cannot do that.
  virtual std::shared_ptr<const Model> of_bytes() const { return nullptr; }

  // The probability that a merge is left out: above 0, draws are needed.
  virtual std::optional<float> dropout() const { return std::nullopt; }
  // The same model with another one; null if it cannot have any.
  virtual std::shared_ptr<const Model> with_dropout(std::optional<float>) const { return nullptr; }

  virtual void write(JsonWriter& out) const = 0;

 protected:
  explicit Model(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  void write_vocabulary(JsonWriter& out) const;

 private:
  Vocabulary vocabulary_;
};

using ModelPointer = std::shared_ptr<const Model>;

// `keeps_scores`: see LoadOptions.
ModelPointer read_model(const Json& json, bool keeps_scores);
// Reads {"token": id, …}.
Vocabulary read_vocabulary(const Json& json, const std::string& place);

}  // namespace plait::text
