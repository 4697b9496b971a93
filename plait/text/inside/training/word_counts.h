// The words of the texts that a model is trained on, in the order in which they appeared first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/text/inside/models/bpe.h"
#include "plait/text/inside/models/unigram.h"
#include "plait/text/training.h"

namespace plait::text {

struct WordCounts {
  struct Word {
    std::string text;
    uint64_t count;
  };
  std::vector<Word> words;

  void add(std::string_view word);

 private:
  std::unordered_map<std::string, size_t> places_;
};

struct BpeResult {
  Vocabulary vocabulary;
  BpeMerges merges;
};
// `prefix` is of symbols within words, `suffix` of the last one.
BpeResult train_bpe(const WordCounts& counts, const TrainingOptions& options,
                    const std::string& prefix, const std::string& suffix);

Vocabulary train_word_level(const WordCounts& counts, const TrainingOptions& options);

struct UnigramResult {
  std::vector<ScoredToken> tokens;
  std::optional<uint32_t> unknown_id;
};
UnigramResult train_unigram(const WordCounts& counts, const TrainingOptions& options);

}  // namespace plait::text
