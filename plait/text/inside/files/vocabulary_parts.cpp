#include "plait/text/vocabulary_parts.h"

#include <algorithm>

#include "plait/core/text.h"
#include "plait/io/inside/utf8.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/files/base64.h"
#include "plait/text/inside/files/split_families.h"
#include "plait/text/inside/models/bpe.h"
#include "plait/text/inside/models/unigram.h"
#include "plait/text/inside/models/word_piece.h"
#include "plait/text/inside/pipeline.h"

namespace plait::text {
namespace {

constexpr std::string_view kMark = "\xe2\x96\x81";  // "▁"

TokenType type_of(const VocabularyParts& parts, size_t id) {
  return parts.types.empty() ? TokenType::normal : parts.types[id];
}

void check_parts(const VocabularyParts& parts) {
  const size_t count = parts.tokens.size();
  const bool needs_scores =
      (parts.kind == VocabularyKind::sentencepiece_bpe && parts.merges.empty()) ||
      parts.kind == VocabularyKind::unigram;
  if (count == 0 || count > INT32_MAX) throw ParseError("there are {} tokens", count);
  if (!parts.types.empty() && parts.types.size() != count) {
    throw ParseError("there are {} types for {} tokens", parts.types.size(), count);
  }
  if (needs_scores && parts.scores.size() != count) {
    throw ParseError("there are {} scores for {} tokens", parts.scores.size(), count);
  }
  for (const auto& id : {parts.unknown, parts.bos, parts.eos, parts.separator, parts.cls}) {
    if (id && *id >= count) throw ParseError("unknown token {}, expected 0 to {}", *id, count - 1);
  }
  for (size_t id = 0; id < count; ++id) {
    if (!is_valid_utf8(parts.tokens[id])) {
      throw ParseError("token {} is not UTF-8", id);
    }
  }
}

std::optional<std::string> text_of(const VocabularyParts& parts, std::optional<uint32_t> id) {
  return id ? std::optional(parts.tokens[*id]) : std::nullopt;
}

Vocabulary vocabulary_of_parts(const VocabularyParts& parts) {
  Vocabulary vocabulary;
  for (uint32_t id = 0; id < parts.tokens.size(); ++id) vocabulary.add(parts.tokens[id], id);
  return vocabulary;
}

// SentencePiece merges what becomes the token with the highest score. So each way to make a token
// of two others is a merge, whose rank is that of the token.
BpeMerges merges_by_score(const VocabularyParts& parts, const Vocabulary& vocabulary) {
  std::vector<uint32_t> order;
  for (uint32_t id = 0; id < parts.tokens.size(); ++id) {
    if (type_of(parts, id) == TokenType::normal) order.push_back(id);
  }
  std::ranges::stable_sort(order, std::greater(), [&](uint32_t id) { return parts.scores[id]; });
  BpeMerges merges;
  uint32_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && parts.scores[order[i]] != parts.scores[order[i - 1]]) ++rank;
    const std::string& token = parts.tokens[order[i]];
    for (size_t at = 1; at < token.size(); ++at) {
      if (is_continuation(static_cast<unsigned char>(token[at]))) continue;
      const std::string left = token.substr(0, at), right = token.substr(at);
      if (vocabulary.find(left) && vocabulary.find(right)) merges.push_back({left, right, rank});
    }
  }
  return merges;
}

BpeMerges merges_of_parts(const VocabularyParts& parts) {
  BpeMerges merges;
  merges.reserve(parts.merges.size());
  for (uint32_t rank = 0; rank < parts.merges.size(); ++rank) {
    merges.push_back(read_merge(parts.merges[rank], rank, element_place("merges", rank)));
  }
  return merges;
}

ModelPointer byte_level_model(const VocabularyParts& parts, bool ignores_merges) {
  return std::make_shared<Bpe>(vocabulary_of_parts(parts), merges_of_parts(parts),
                               BpeOptions{.ignores_merges = ignores_merges});
}

ModelPointer sentencepiece_model(const VocabularyParts& parts) {
  Vocabulary vocabulary = vocabulary_of_parts(parts);
  const BpeMerges merges =
      parts.merges.empty() ? merges_by_score(parts, vocabulary) : merges_of_parts(parts);
  return std::make_shared<Bpe>(std::move(vocabulary), merges,
                               BpeOptions{.unknown = text_of(parts, parts.unknown),
                                          .fuses_unknown = true,
                                          .has_byte_tokens = true});
}

ModelPointer unigram_model(const VocabularyParts& parts) {
  std::vector<ScoredToken> tokens;
  for (size_t id = 0; id < parts.tokens.size(); ++id) {
    tokens.push_back({parts.tokens[id], parts.scores[id]});
  }
  const bool has_bytes = std::ranges::find(parts.types, TokenType::byte) != parts.types.end();
  return std::make_shared<Unigram>(std::move(tokens), parts.unknown, has_bytes);
}

// GGUF marks the beginnings of words instead of what continues them.
ModelPointer word_piece_model(const VocabularyParts& parts) {
  Vocabulary vocabulary;
  for (uint32_t id = 0; id < parts.tokens.size(); ++id) {
    const std::string& token = parts.tokens[id];
    const TokenType type = type_of(parts, id);
    if (type != TokenType::normal) {
      vocabulary.add(token, id);
    } else if (token.starts_with(kMark)) {
      vocabulary.add(std::string_view(token).substr(kMark.size()), id);
    } else {
      vocabulary.add("##" + token, id);
    }
  }
  WordPieceOptions options;
  if (parts.unknown) options.unknown = parts.tokens[*parts.unknown];
  return std::make_shared<WordPiece>(std::move(vocabulary), std::move(options));
}

// The parts around a model are those of a tokenizer.json.
class PartsJson {
 public:
  static Json object(Json::Object members) { return Json(Json::Value(std::move(members))); }
  static Json list(Json::List elements) { return Json(Json::Value(std::move(elements))); }
  static Json text(std::string_view value) { return Json(Json::Value(std::string(value))); }
  static Json flag(bool value) { return Json(Json::Value(value)); }
  static Json number(int64_t value) { return Json(Json::Value(value)); }
  static Json pattern(std::string_view kind, std::string_view value) {
    return object({{std::string(kind), text(value)}});
  }
  static Json replace(std::string_view old, std::string_view with) {
    return object(
        {{"type", text("Replace")}, {"pattern", pattern("String", old)}, {"content", text(with)}});
  }
  static Json plain(std::string_view type) { return object({{"type", text(type)}}); }
  static Json sequence(std::string_view name, Json::List elements) {
    return object({{"type", text("Sequence")}, {std::string(name), list(std::move(elements))}});
  }
  static Json byte_level() {
    return object({{"type", text("ByteLevel")},
                   {"add_prefix_space", flag(false)},
                   {"trim_offsets", flag(false)},
                   {"use_regex", flag(false)}});
  }
  static Json split(std::string_view regex) {
    return object({{"type", text("Split")},
                   {"pattern", pattern("Regex", regex)},
                   {"behavior", text("Isolated")},
                   {"invert", flag(false)}});
  }
  static Json metaspace(bool prepends) {
    return object({{"type", text("Metaspace")},
                   {"replacement", text(kMark)},
                   {"prepend_scheme", text(prepends ? "always" : "never")},
                   {"split", flag(true)}});
  }
};

void set_up_byte_level(const VocabularyParts& parts, Pipeline& pipeline) {
  const SplitFamily family = split_family(parts.pre);
  Json::List steps;
  for (const std::string_view pattern : family.patterns) {
    steps.push_back(PartsJson::split(pattern));
  }
  steps.push_back(PartsJson::byte_level());
  pipeline.pre_tokenizer =
      read_pre_tokenizer(PartsJson::sequence("pretokenizers", std::move(steps)), "pre_tokenizer");
  pipeline.decoder = read_decoder(PartsJson::byte_level(), "decoder");
  pipeline.model = byte_level_model(parts, family.ignores_merges);
}

void set_up_sentencepiece(const VocabularyParts& parts, Pipeline& pipeline) {
  Json::List changes;
  if (parts.add_space_prefix) {
    changes.push_back(PartsJson::object(
        {{"type", PartsJson::text("Prepend")}, {"prepend", PartsJson::text(kMark)}}));
  }
  changes.push_back(PartsJson::replace(" ", kMark));
  pipeline.normalizer =
      read_normalizer(PartsJson::sequence("normalizers", std::move(changes)), "normalizer");
  if (!parts.merges.empty()) {  // no merge has a newline with other characters
    pipeline.pre_tokenizer = read_pre_tokenizer(PartsJson::split(R"([^\n]+|\n+)"), "pre_tokenizer");
  }
  Json::List steps = {PartsJson::replace(kMark, " "), PartsJson::plain("ByteFallback"),
                      PartsJson::plain("Fuse")};
  if (parts.add_space_prefix) {
    steps.push_back(PartsJson::object({{"type", PartsJson::text("Strip")},
                                       {"content", PartsJson::text(" ")},
                                       {"start", PartsJson::number(1)},
                                       {"stop", PartsJson::number(0)}}));
  }
  pipeline.decoder = read_decoder(PartsJson::sequence("decoders", std::move(steps)), "decoder");
  pipeline.model = sentencepiece_model(parts);
}

void set_up_unigram(const VocabularyParts& parts, Pipeline& pipeline) {
  if (!parts.charsmap.empty()) {
    pipeline.normalizer = read_normalizer(
        PartsJson::object({{"type", PartsJson::text("Precompiled")},
                           {"precompiled_charsmap", PartsJson::text(to_base64(parts.charsmap))}}),
        "normalizer");
  }
  const Json metaspace = PartsJson::metaspace(parts.add_space_prefix);
  pipeline.pre_tokenizer = read_pre_tokenizer(metaspace, "pre_tokenizer");
  pipeline.decoder = read_decoder(metaspace, "decoder");
  pipeline.model = unigram_model(parts);
}

void set_up_word_piece(const VocabularyParts& parts, Pipeline& pipeline) {
  pipeline.normalizer = bert_normalizer(true);
  pipeline.pre_tokenizer = bert_pre_tokenizer();
  pipeline.decoder = word_piece_decoder("##", true);
  pipeline.model = word_piece_model(parts);
}

// The tokens that are added before and after a text: for a pair, before each and after each.
void add_ends(const VocabularyParts& parts, Pipeline& pipeline) {
  const bool is_bert = parts.kind == VocabularyKind::word_piece;
  const auto first = is_bert ? parts.cls : parts.add_bos ? parts.bos : std::nullopt;
  const auto last = is_bert ? parts.separator : parts.add_eos ? parts.eos : std::nullopt;
  if (is_bert && first && last) {
    pipeline.post_processor =
        bert_processor({*first, parts.tokens[*first]}, {*last, parts.tokens[*last]});
    return;
  }
  if (!first && !last) return;
  Json::Object special;
  const auto add_special = [&](Json::List& pieces, std::optional<uint32_t> id, int64_t type_id) {
    if (!id) return;
    const Json name = PartsJson::text(parts.tokens[*id]);
    pieces.push_back(PartsJson::object(
        {{"SpecialToken",
          PartsJson::object({{"id", name}, {"type_id", PartsJson::number(type_id)}})}}));
    if (std::ranges::find(special, parts.tokens[*id], &Json::Object::value_type::first) !=
        special.end()) {
      return;
    }
    special.emplace_back(parts.tokens[*id],
                         PartsJson::object({{"id", name},
                                            {"ids", PartsJson::list({PartsJson::number(*id)})},
                                            {"tokens", PartsJson::list({name})}}));
  };
  const auto add_text = [&](Json::List& pieces, std::string_view which, int64_t type_id) {
    add_special(pieces, first, type_id);
    pieces.push_back(PartsJson::object(
        {{"Sequence", PartsJson::object({{"id", PartsJson::text(which)},
                                         {"type_id", PartsJson::number(type_id)}})}}));
    add_special(pieces, last, type_id);
  };
  Json::List single, pair;
  add_text(single, "A", 0);
  add_text(pair, "A", 0);
  add_text(pair, "B", 1);
  pipeline.post_processor = read_post_processor(
      PartsJson::object({{"type", PartsJson::text("TemplateProcessing")},
                         {"single", PartsJson::list(std::move(single))},
                         {"pair", PartsJson::list(std::move(pair))},
                         {"special_tokens", PartsJson::object(std::move(special))}}),
      "post_processor");
}

}  // namespace

Pipeline pipeline_of(const VocabularyParts& parts) {
  check_parts(parts);
  Pipeline pipeline;
  switch (parts.kind) {
    case VocabularyKind::bpe: set_up_byte_level(parts, pipeline); break;
    case VocabularyKind::sentencepiece_bpe: set_up_sentencepiece(parts, pipeline); break;
    case VocabularyKind::unigram: set_up_unigram(parts, pipeline); break;
    case VocabularyKind::word_piece: set_up_word_piece(parts, pipeline); break;
  }
  std::vector<AddedToken> added;
  for (size_t id = 0; id < parts.tokens.size(); ++id) {
    const TokenType type = type_of(parts, id);
    const bool is_special = type == TokenType::control || type == TokenType::unknown;
    if (!is_special && type != TokenType::user_defined) continue;
    added.push_back({.content = parts.tokens[id], .normalized = false, .special = is_special});
  }
  pipeline.added.add(added, *pipeline.model, nullptr);
  add_ends(parts, pipeline);
  return pipeline;
}

}  // namespace plait::text
