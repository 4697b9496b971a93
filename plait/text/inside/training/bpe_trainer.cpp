#include <algorithm>
#include <map>
#include <queue>

#include "plait/core/error.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/training/word_counts.h"

namespace plait::text {
namespace {

struct SymbolPair {
  uint32_t left, right;

  friend auto operator<=>(const SymbolPair&, const SymbolPair&) = default;
};
struct SymbolPairHash {
  size_t operator()(const SymbolPair& pair) const {
    return static_cast<size_t>((uint64_t{pair.left} << 32 | pair.right) * 0x9e3779b97f4a7c15);
  }
};

struct TrainedSymbol {
  uint32_t id;
  uint32_t size;  // characters
};
using TrainedWord = std::vector<TrainedSymbol>;

// A pair that may be merged in some words. The pair with the greatest count is first, of several
// the one of the lowest ids.
struct MergeCandidate {
  SymbolPair pair;
  int64_t count;
  std::vector<uint32_t> words;

  friend bool operator<(const MergeCandidate& a, const MergeCandidate& b) {
    return a.count != b.count ? a.count < b.count : b.pair < a.pair;
  }
};

class BpeTrainer {
 public:
  BpeTrainer(const WordCounts& counts, const TrainingOptions& options, const std::string& prefix,
             const std::string& suffix)
      : counts_(counts), options_(options), prefix_(prefix), suffix_(suffix) {}

  BpeResult train() {
    for (const AddedToken& token : options_.special_tokens) token_id(token.content);
    add_alphabet();
    split_words_into_symbols();
    count_pairs();
    merge_pairs();
    BpeResult result;
    for (uint32_t id = 0; id < tokens_.size(); ++id) result.vocabulary.add(tokens_[id], id);
    result.merges = std::move(merges_);
    return result;
  }

 private:
  // The id of a token, which is added if it is new.
  uint32_t token_id(const std::string& token) {
    const auto [place, is_new] = ids_.try_emplace(token, static_cast<uint32_t>(tokens_.size()));
    if (is_new) tokens_.push_back(token);
    return place->second;
  }

  // The characters of the words, in order. Those that appear least are left out if there are too
  // many.
  void add_alphabet() {
    std::map<char32_t, uint64_t> frequencies;
    for (const auto& [word, count] : counts_.words) {
      for (const char32_t c : characters_of_text(word)) frequencies[c] += count;
    }
    for (const char32_t c : characters_of_text(options_.initial_alphabet)) {
      frequencies[c] = UINT64_MAX;
    }
    std::vector<char32_t> kept;
    for (const auto& [c, frequency] : frequencies) kept.push_back(c);
    const size_t limit = options_.limit_alphabet.value_or(kept.size());
    if (kept.size() > limit) {
      std::ranges::stable_sort(kept, std::greater(), [&](char32_t c) { return frequencies[c]; });
      kept.resize(limit);
      std::ranges::sort(kept);
    }
    for (const char32_t c : kept) {
      std::string token;
      append_utf8(token, c);
      token_id(token);
    }
  }

  void split_words_into_symbols() {
    words_.reserve(counts_.words.size());
    for (const auto& [text, count] : counts_.words) {
      TrainedWord& word = words_.emplace_back();
      for (size_t at = 0; at < text.size();) {
        const size_t size = utf8_size(static_cast<unsigned char>(text[at]));
        const std::string character = text.substr(at, size);
        const bool is_first = at == 0, is_last = at + size == text.size();
        at += size;
        if (!ids_.contains(character)) continue;  // not of the alphabet
        word.push_back(
            {token_id((is_first ? "" : prefix_) + character + (is_last ? suffix_ : "")), 1});
      }
    }
  }

  void count_pairs() {
    for (uint32_t i = 0; i < words_.size(); ++i) {
      const TrainedWord& word = words_[i];
      for (size_t k = 0; k + 1 < word.size(); ++k) {
        const SymbolPair pair{word[k].id, word[k + 1].id};
        pair_counts_[pair] += count_of(i);
        note_word(pair, i);
      }
    }
    queue_changed_pairs();
  }

  int64_t count_of(uint32_t word) const { return static_cast<int64_t>(counts_.words[word].count); }
  void note_word(SymbolPair pair, uint32_t word) {
    std::vector<uint32_t>& words = changed_[pair];
    if (words.empty() || words.back() != word) words.push_back(word);
  }
  void queue_changed_pairs() {
    for (auto& [pair, words] : changed_) {
      const int64_t count = pair_counts_[pair];
      if (count > 0) queue_.push({pair, count, std::move(words)});
    }
    changed_.clear();
  }

  void merge_pairs() {
    while (tokens_.size() < options_.vocab_size && !queue_.empty()) {
      MergeCandidate top = queue_.top();
      queue_.pop();
      const int64_t count = pair_counts_[top.pair];
      if (top.count != count) {  // it is outdated
        top.count = count;
        queue_.push(std::move(top));
        continue;
      }
      if (count < 1 || static_cast<uint64_t>(count) < options_.min_frequency) break;
      merge(top);
      queue_changed_pairs();
    }
  }

  void merge(const MergeCandidate& candidate) {
    const std::string left = tokens_[candidate.pair.left];
    const std::string right = tokens_[candidate.pair.right];
    const bool has_prefix = !prefix_.empty() && right.starts_with(prefix_);
    const uint32_t id = token_id(left + (has_prefix ? right.substr(prefix_.size()) : right));
    merges_.push_back({left, right, static_cast<uint32_t>(merges_.size())});
    for (const uint32_t word : candidate.words) merge_in_word(candidate.pair, id, word);
  }

  void merge_in_word(SymbolPair pair, uint32_t id, uint32_t number) {
    TrainedWord& word = words_[number];
    const int64_t count = count_of(number);
    const size_t longest = options_.max_token_length.value_or(SIZE_MAX);
    const auto add = [&](SymbolPair changed, size_t size) {
      if (size >= longest) return;
      pair_counts_[changed] += count;
      note_word(changed, number);
    };
    for (size_t i = 0; i + 1 < word.size(); ++i) {
      if (word[i].id != pair.left || word[i + 1].id != pair.right) continue;
      const uint32_t size = word[i].size + word[i + 1].size;
      if (i > 0) {
        pair_counts_[{word[i - 1].id, pair.left}] -= count;
        add({word[i - 1].id, id}, word[i - 1].size + size);
      }
      word[i] = {id, size};
      word.erase(word.begin() + static_cast<ptrdiff_t>(i) + 1);
      if (i + 1 < word.size()) {
        pair_counts_[{pair.right, word[i + 1].id}] -= count;
        add({id, word[i + 1].id}, word[i + 1].size + size);
      }
    }
  }

  const WordCounts& counts_;
  const TrainingOptions& options_;
  const std::string& prefix_;
  const std::string& suffix_;

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<TrainedWord> words_;
  std::unordered_map<SymbolPair, int64_t, SymbolPairHash> pair_counts_;
  std::map<SymbolPair, std::vector<uint32_t>> changed_;  // pairs that are new in these words
  std::priority_queue<MergeCandidate> queue_;
  BpeMerges merges_;
};

}  // namespace

BpeResult train_bpe(const WordCounts& counts, const TrainingOptions& options,
                    const std::string& prefix, const std::string& suffix) {
  return BpeTrainer(counts, options, prefix, suffix).train();
}

Vocabulary train_word_level(const WordCounts& counts, const TrainingOptions& options) {
  std::vector<WordCounts::Word> words = counts.words;
  std::ranges::sort(words, [](const auto& a, const auto& b) {
    return a.count != b.count ? a.count > b.count : a.text < b.text;
  });
  Vocabulary vocabulary;
  uint32_t id = 0;
  const auto add = [&](const std::string& token) {
    if (id < options.vocab_size) vocabulary.add(token, id++);
  };
  for (const AddedToken& token : options.special_tokens) add(token.content);
  for (const auto& [word, count] : words) {
    if (count >= options.min_frequency) add(word);
  }
  return vocabulary;
}

}  // namespace plait::text
