// Training of tokenizers: the vocabulary of a model is learned from texts.
//
//   text::Trainer trainer(text::Tokenizer::parse(…));   // how texts are normalized and split
//   trainer.add(lines);                                 // any number of times
//   const text::Tokenizer tokenizer = trainer.train({.vocab_size = 8000});
//
// The result is that of the trainers of `tokenizers`: the same merges, ties included. Where those
// depend on the order of a hash table, words count in the order in which they appeared first.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/tokenizer.h"

namespace plait::text {

struct TrainingOptions {
  size_t vocab_size = 30'000;                   // with special tokens
  std::vector<AddedToken> special_tokens = {};  // the first ids are theirs
  uint64_t min_frequency = 0;  // frequency of pairs that become tokens; not of Unigram
  // Characters that are tokens even if they do not appear, and the most characters that are.
  std::string initial_alphabet = {};
  std::optional<size_t> limit_alphabet = {};
  std::optional<size_t> max_token_length = {};  // characters

  // For Unigram.
  std::optional<std::string> unknown =
      {};                          // the unknown token, which is added if it is not special
  double shrinking_factor = 0.75;  // fraction of candidates that are kept, at each step
  size_t sub_iterations = 2;
  size_t seed_size = 1'000'000;  // candidates at first
};

struct WordCounts;

class Trainer {
 public:
  // The tokenizer says what kind of model is trained, and all but its tokens.
  explicit Trainer(Tokenizer tokenizer);
  ~Trainer();
  Trainer(Trainer&& other) noexcept;
  Trainer& operator=(Trainer&& other) noexcept;

  // Counts the words of texts.
  void add(std::span<const std::string_view> texts);
  size_t word_count() const;  // different ones

  Tokenizer train(const TrainingOptions& options) const;

 private:
  Tokenizer tokenizer_;
  std::unique_ptr<WordCounts> counts_;
};

// The characters of byte-level tokenizers, for initial_alphabet.
std::string byte_level_alphabet();

}  // namespace plait::text
