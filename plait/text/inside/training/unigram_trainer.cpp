#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/training/piece_lattice.h"
#include "plait/text/inside/training/substrings.h"
#include "plait/text/inside/training/word_counts.h"

namespace plait::text {
namespace {

using Pieces = std::vector<ScoredToken>;

// The derivative of log Γ, for x > 0.
double digamma(double x) {
  double result = 0;
  for (; x < 7; ++x) result -= 1 / x;
  x -= 0.5;
  const double square = 1 / x * (1 / x), fourth = square * square;
  return result + std::log(x) + 1.0 / 24 * square - 7.0 / 960 * fourth +
         31.0 / 8064 * fourth * square - 127.0 / 30720 * fourth * fourth;
}

std::string text_of_characters(std::u32string_view characters) {
  std::string text;
  for (const char32_t c : characters) append_utf8(text, c);
  return text;
}

// Learns the tokens of a Unigram model as SentencePiece does (Kudo, 2018): many candidates, whose
// probabilities are estimated by expectation maximisation, and of which the least useful are
// removed again and again.
class UnigramTrainer {
 public:
  UnigramTrainer(const WordCounts& counts, const TrainingOptions& options)
      : counts_(counts), options_(options), longest_(options.max_token_length.value_or(16)) {}

  UnigramResult train() {
    find_characters();
    PieceTable table(seeds());
    const size_t wanted = options_.vocab_size * 11 / 10;
    while (true) {
      for (size_t i = 0; i < options_.sub_iterations; ++i) table = PieceTable(reestimated(table));
      if (table.pieces.size() <= wanted) break;
      const size_t before = table.pieces.size();
      table = PieceTable(pruned(table, wanted));
      if (table.pieces.size() == before) break;
    }
    return finished(table);
  }

 private:
  void find_characters() {
    for (const auto& [word, count] : counts_.words) {
      for (const char32_t c : characters_of_text(word)) characters_.insert(c);
    }
    for (const char32_t c : characters_of_text(options_.initial_alphabet)) characters_.insert(c);
    if (characters_.size() > options_.vocab_size) {
      throw ValueError("train: the vocab_size is {}, but the texts have {} characters",
                       options_.vocab_size, characters_.size());
    }
  }

  // The characters, and the substrings that save most: those of the greatest product of length and
  // frequency.
  Pieces seeds() const {
    struct Seed {
      uint64_t score;
      std::u32string text;
      bool operator>(const Seed& other) const {
        return score != other.score ? score > other.score : text > other.text;
      }
    };
    std::u32string words;
    std::map<char32_t, uint64_t> frequencies;
    for (const auto& [word, count] : counts_.words) {
      const std::u32string characters = characters_of_text(word);
      for (const char32_t c : characters) frequencies[c] += c == 0 ? 0 : count;
      words += characters + U'\0';
    }
    frequencies.erase(0);
    std::vector<Seed> single, several;
    for (const auto& [c, count] : frequencies) single.push_back({count, {c}});
    for_each_repeated_substring(words, longest_, [&](size_t begin, size_t size, uint32_t count) {
      several.push_back({uint64_t{count} * size, words.substr(begin, size)});
    });
    std::ranges::sort(single, std::greater());
    std::ranges::sort(several, std::greater());
    Pieces pieces = {{"<UNK>", std::numeric_limits<double>::quiet_NaN()}};
    double sum = 0;
    const auto add = [&](const Seed& seed) {
      pieces.push_back({text_of_characters(seed.text), static_cast<double>(seed.score)});
      sum += pieces.back().score;
    };
    for (const Seed& seed : single) add(seed);
    for (const Seed& seed : several) {
      if (pieces.size() > options_.seed_size) break;
      add(seed);
    }
    const double log_sum = std::log(sum);
    for (size_t i = 1; i < pieces.size(); ++i) {
      pieces[i].score = std::log(pieces[i].score) - log_sum;
    }
    return pieces;
  }

  // One step of expectation maximisation. The digamma function is that of a sparse prior.
  Pieces reestimated(const PieceTable& table) const {
    std::vector<double> expected(table.pieces.size(), 0);
    for (const auto& [word, count] : counts_.words) {
      Lattice(word, table).add_expected(static_cast<double>(count), expected);
    }
    constexpr double kLeastExpected = 0.5;
    Pieces pieces = {table.pieces[0]};
    double sum = 0;
    for (size_t id = 1; id < expected.size(); ++id) {
      if (expected[id] < kLeastExpected) continue;
      pieces.push_back({table.pieces[id].text, expected[id]});
      sum += expected[id];
    }
    const double log_sum = digamma(sum);
    for (size_t i = 1; i < pieces.size(); ++i) pieces[i].score = digamma(pieces[i].score) - log_sum;
    return pieces;
  }

  // How the words are divided now, and how each piece is divided without itself.
  struct Usage {
    std::vector<double> frequency;  // frequency of each piece in the words
    std::vector<double> words;      // frequencies of the words that it is in, once for each time
    double all_words = 0;
  };
  Usage usage_of(const PieceTable& table) const {
    Usage usage{std::vector<double>(table.pieces.size(), 0),
                std::vector<double>(table.pieces.size(), 0)};
    for (const auto& [word, count] : counts_.words) {
      const auto number = static_cast<double>(count);
      usage.all_words += number;
      for (const uint32_t id : Lattice(word, table).best()) {
        usage.frequency[id] += number;
        usage.words[id] += number;
      }
    }
    return usage;
  }

  Pieces pruned(const PieceTable& table, size_t wanted) const {
    const Usage usage = usage_of(table);
    double sum = 0;
    for (const double each : usage.frequency) sum += each;
    struct Candidate {
      uint32_t id;
      double loss;
    };
    std::vector<Candidate> candidates;
    Pieces kept = {table.pieces[0]};
    for (uint32_t id = 1; id < table.pieces.size(); ++id) {
      const auto segmentations = Lattice(table.pieces[id].text, table).two_best();
      const bool is_divided = segmentations[0].size() > 1;
      if (usage.frequency[id] == 0 && is_divided) continue;
      if (is_divided || segmentations.size() == 1) {  // there is nothing to divide it into
        kept.push_back(table.pieces[id]);
      } else if (usage.words[id] > 0) {
        candidates.push_back({id, loss_of(id, segmentations[1], usage, sum)});
      }
    }
    const auto shrunk =
        static_cast<size_t>(static_cast<double>(table.pieces.size()) * options_.shrinking_factor);
    const size_t most = std::max(wanted, shrunk);
    std::ranges::stable_sort(candidates, std::greater(), &Candidate::loss);
    for (const Candidate& each : candidates) {
      if (kept.size() == most) break;
      kept.push_back(table.pieces[each.id]);
    }
    return kept;
  }

  // How much the likelihood decreases if the piece is replaced by others everywhere. The sum of
  // frequencies is then counted as if it were replaced by all pieces, as the reference does: with
  // the number of the others, about a tenth of the tokens are other ones.
  static double loss_of(uint32_t id, const std::vector<uint32_t>& others, const Usage& usage,
                        double sum) {
    const double frequency = usage.frequency[id];
    const double log_probability = std::log(frequency) - std::log(sum);
    const double log_sum =
        std::log(sum + frequency * static_cast<double>(usage.frequency.size() - 1));
    double log_of_others = 0;
    for (const uint32_t other : others) {
      log_of_others += std::log(usage.frequency[other] + frequency) - log_sum;
    }
    return usage.words[id] / usage.all_words * (log_probability - log_of_others);
  }

  UnigramResult finished(const PieceTable& table) const {
    std::unordered_map<std::string_view, double> scores;
    for (size_t id = 1; id < table.pieces.size(); ++id) {
      scores.emplace(table.pieces[id].text, table.pieces[id].score);
    }
    std::unordered_set<std::string> added = {"<UNK>"};
    Pieces pieces;
    double penalty = 0;
    constexpr double kPenaltyStep = 0.0001;
    for (const char32_t c : characters_) {
      const std::string text = text_of_characters({&c, 1});
      const auto found = scores.find(text);
      if (found == scores.end()) penalty += kPenaltyStep;
      const double score =
          found != scores.end() ? found->second : table.least_score() + penalty - kPenaltyStep;
      pieces.push_back({text, score});
      added.insert(text);
    }
    const auto& special = options_.special_tokens;
    const auto place =
        std::ranges::find(special, options_.unknown.value_or(""), &AddedToken::content);
    const bool adds_unknown = options_.unknown && place == special.end();
    const size_t reserved = special.size() + (adds_unknown ? 1 : 0);
    const size_t most = options_.vocab_size > reserved ? options_.vocab_size - reserved : 0;
    for (size_t id = 1; id < table.pieces.size() && pieces.size() < most; ++id) {
      if (added.insert(table.pieces[id].text).second) pieces.push_back(table.pieces[id]);
    }
    std::ranges::stable_sort(pieces, std::greater(), &ScoredToken::score);
    UnigramResult result;
    if (adds_unknown) result.tokens.push_back({*options_.unknown, 0});
    for (const AddedToken& token : special) result.tokens.push_back({token.content, 0});
    result.tokens.insert(result.tokens.end(), pieces.begin(), pieces.end());
    if (options_.unknown) {
      result.unknown_id = adds_unknown ? 0 : static_cast<uint32_t>(place - special.begin());
    }
    return result;
  }

  const WordCounts& counts_;
  const TrainingOptions& options_;
  size_t longest_;
  std::set<char32_t> characters_;
};

}  // namespace

UnigramResult train_unigram(const WordCounts& counts, const TrainingOptions& options) {
  return UnigramTrainer(counts, options).train();
}

}  // namespace plait::text
