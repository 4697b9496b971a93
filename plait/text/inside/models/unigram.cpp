#include "plait/text/inside/models/unigram.h"

#include <algorithm>
#include <limits>

#include "plait/core/text.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/files/decimals.h"

namespace plait::text {
namespace {

Vocabulary vocabulary_of(const std::vector<ScoredToken>& tokens) {
  Vocabulary vocabulary;
  vocabulary.reserve(tokens.size(), 8 * tokens.size());
  for (uint32_t id = 0; id < tokens.size(); ++id) vocabulary.add(tokens[id].text, id);
  return vocabulary;
}

}  // namespace

Unigram::Unigram(std::vector<ScoredToken> tokens, std::optional<uint32_t> unknown_id,
                 bool has_byte_tokens)
    : Model(vocabulary_of(tokens)), unknown_id_(unknown_id), has_byte_tokens_(has_byte_tokens) {
  if (unknown_id && *unknown_id >= tokens.size()) {
    throw ParseError("model.unk_id is {}, but there are {} tokens", *unknown_id, tokens.size());
  }
  constexpr double kUnknownPenalty = 10;
  double least = std::numeric_limits<double>::infinity();
  std::vector<ByteTrie::Key> keys;
  keys.reserve(tokens.size());
  scores_.reserve(tokens.size());
  for (uint32_t id = 0; id < tokens.size(); ++id) {
    scores_.push_back(tokens[id].score);
    least = std::min(least, tokens[id].score);
    keys.emplace_back(tokens[id].text, id);
  }
  unknown_score_ = least - kUnknownPenalty;
  trie_ = ByteTrie(std::move(keys));
  for (size_t byte = 0; byte < 256; ++byte) {
    byte_tokens_[byte] = vocabulary().find(fmt::format("<0x{:02X}>", byte));
  }
}

ModelPointer Unigram::read(JsonFields& fields, bool keeps_scores) {
  const Json::List& list = fields.list("vocab");
  const std::string place = fields.place_of("vocab");
  std::vector<ScoredToken> tokens;
  tokens.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string here = element_place(place, i);
    const auto& pair = list[i].as<Json::List>(here);
    if (pair.size() != 2) throw ParseError("{}: expected a token and its score", here);
    const double score = pair[1].number(here);
    tokens.push_back(
        {pair[0].as<std::string>(here), keeps_scores ? score : as_reference_reads(score)});
  }
  const auto unknown_id = fields.optional_number("unk_id");
  return std::make_shared<Unigram>(std::move(tokens), unknown_id,
                                   fields.boolean_or("byte_fallback", false));
}

// Viterbi's algorithm: the best path to each position extends the best path to an earlier one.
void Unigram::find_paths(std::string_view word, std::vector<BestPath>& paths) const {
  paths.assign(word.size() + 1, {.score = 0, .begin = 0, .id = 0, .is_reached = false});
  for (size_t begin = 0; begin < word.size();) {
    const size_t character = utf8_size(static_cast<unsigned char>(word[begin]));
    const double score_here = paths[begin].score;
    const auto offer = [&](size_t size, double score, uint32_t id) {
      BestPath& path = paths[begin + size];
      if (path.is_reached && !(score > path.score)) return;
      path = {score, static_cast<uint32_t>(begin), id, true};
    };
    bool has_single_character = false;
    trie_.for_each_prefix(word.substr(begin), [&](size_t size, uint32_t id) {
      offer(size, score_here + scores_[id], id);
      has_single_character = has_single_character || size == character;
    });
    if (!has_single_character) {
      if (!unknown_id_) {
        throw ValueError("{} has an unknown character, and the model has no unknown token",
                         in_quotes(word));
      }
      offer(character, score_here + unknown_score_, *unknown_id_);
    }
    begin += character;
  }
}

void Unigram::add_piece(std::string_view word, Span piece, std::vector<ModelToken>& out) const {
  const std::string_view text = word.substr(piece.begin, piece.size());
  if (const auto id = vocabulary().find(text)) {
    out.push_back({*id, piece.begin, piece.end});
    return;
  }
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<unsigned char>(byte)]; };
  const bool is_bytes = has_byte_tokens_ && std::ranges::all_of(text, [&](char byte) {
                          return token_of(byte).has_value();
                        });
  if (!is_bytes) {
    out.push_back({*unknown_id_, piece.begin, piece.end});
    return;
  }
  for (const char byte : text) out.push_back({*token_of(byte), piece.begin, piece.end});
}

// Neighbouring unknown characters are one piece.
void Unigram::add_tokens(std::string_view word, const std::vector<BestPath>& paths,
                         std::vector<ModelToken>& out) const {
  std::vector<Span> pieces;  // from the end
  bool last_is_unknown = false;
  for (auto end = static_cast<uint32_t>(word.size()); end > 0;) {
    const BestPath& path = paths[end];
    const bool is_unknown = path.id == unknown_id_;
    if (is_unknown && last_is_unknown) {
      pieces.back().begin = path.begin;
    } else {
      pieces.push_back({path.begin, end});
    }
    last_is_unknown = is_unknown;
    end = path.begin;
  }
  for (size_t i = pieces.size(); i-- > 0;) add_piece(word, pieces[i], out);
}

void Unigram::tokenize(std::string_view word, ModelMemory& memory,
                       std::vector<ModelToken>& out) const {
  const bool is_cached = word.size() < WordCache::kLongestWord;
  const uint64_t hash = is_cached ? text_hash(word) : 0;
  if (is_cached && memory.cache.find(word, hash, out)) return;
  const size_t first = out.size();
  find_paths(word, memory.paths);
  add_tokens(word, memory.paths, out);
  if (is_cached) memory.cache.insert(word, hash, std::span(out).subspan(first));
}

void Unigram::write(JsonWriter& out) const {
  out.begin_typed("Unigram");
  out.member("unk_id", unknown_id_);
  out.key("vocab");
  out.begin_list();
  for (uint32_t id = 0; id < scores_.size(); ++id) {
    out.begin_list();
    out.string(vocabulary().text(id));
    out.real(scores_[id]);
    out.end_list();
  }
  out.end_list();
  out.member("byte_fallback", has_byte_tokens_);
  out.end_object();
}

}  // namespace plait::text
