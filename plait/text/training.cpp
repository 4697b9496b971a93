#include "plait/text/training.h"

#include "plait/core/error.h"
#include "plait/text/inside/byte_alphabet.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/models/word_level.h"
#include "plait/text/inside/models/word_piece.h"
#include "plait/text/inside/pipeline.h"
#include "plait/text/inside/training/word_counts.h"

namespace plait::text {

// Reaches the parts of a tokenizer.
class TokenizerFactory {
 public:
  static const Pipeline& parts(const Tokenizer& tokenizer) { return *tokenizer.pipeline_; }
  static Tokenizer from(Pipeline parts) { return Tokenizer(Pipeline::finish(std::move(parts))); }
};

namespace {

void check_options(const TrainingOptions& options) {
  constexpr size_t kMostTokens = 100'000'000;
  if (options.vocab_size > kMostTokens) {
    throw ValueError("train: the vocab_size is {}, expected up to {}", options.vocab_size,
                     kMostTokens);
  }
  if (!(options.shrinking_factor > 0 && options.shrinking_factor < 1)) {
    throw ValueError("train: the shrinking_factor is {}, expected between 0 and 1",
                     options.shrinking_factor);
  }
  expect_utf8(options.initial_alphabet, "train: the initial_alphabet");
  for (const AddedToken& token : options.special_tokens) {
    expect_utf8(token.content, "train: a special token");
  }
}

ModelPointer trained_model(const Model& model, const WordCounts& counts,
                           const TrainingOptions& options) {
  if (const auto* bpe = dynamic_cast<const Bpe*>(&model)) {
    const BpeOptions& kept = bpe->options();
    BpeResult result =
        train_bpe(counts, options, kept.prefix.value_or(""), kept.suffix.value_or(""));
    return std::make_shared<Bpe>(std::move(result.vocabulary), result.merges, kept);
  }
  if (const auto* word_piece = dynamic_cast<const WordPiece*>(&model)) {
    const WordPieceOptions& kept = word_piece->options();
    BpeResult result = train_bpe(counts, options, kept.prefix, "");
    return std::make_shared<WordPiece>(std::move(result.vocabulary), kept);
  }
  if (const auto* unigram = dynamic_cast<const Unigram*>(&model)) {
    UnigramResult result = train_unigram(counts, options);
    return std::make_shared<Unigram>(std::move(result.tokens), result.unknown_id,
                                     unigram->has_byte_tokens());
  }
  const auto& word_level = dynamic_cast<const WordLevel&>(model);
  return std::make_shared<WordLevel>(train_word_level(counts, options), word_level.unknown());
}

}  // namespace

void WordCounts::add(std::string_view word) {
  const auto [place, is_new] = places_.try_emplace(std::string(word), words.size());
  if (is_new) words.push_back({std::string(word), 0});
  ++words[place->second].count;
}

Trainer::Trainer(Tokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)), counts_(std::make_unique<WordCounts>()) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&& other) noexcept = default;
Trainer& Trainer::operator=(Trainer&& other) noexcept = default;

void Trainer::add(std::span<const std::string_view> texts) {
  const Pipeline& parts = TokenizerFactory::parts(tokenizer_);
  for (const std::string_view text : texts) {
    expect_utf8(text, "a text to train on");
    AlignedText normalized(text, 0);
    if (parts.normalizer) parts.normalizer->apply(normalized);
    SplitText split;
    const uint32_t size = normalized.size();
    split.text = std::move(normalized);
    if (size > 0) split.pieces.push_back({{0, size}});
    if (parts.pre_tokenizer) parts.pre_tokenizer->apply(split);
    for (const TextPiece& piece : split.pieces) counts_->add(split.text.text(piece.part));
  }
}

size_t Trainer::word_count() const { return counts_->words.size(); }

Tokenizer Trainer::train(const TrainingOptions& options) const {
  check_options(options);
  Pipeline parts = TokenizerFactory::parts(tokenizer_);
  parts.model = trained_model(*parts.model, *counts_, options);
  std::vector<AddedToken> added = options.special_tokens;
  for (const auto& [id, token] : parts.added.tokens()) added.push_back(token);
  parts.added = {};
  parts.added.add(added, *parts.model, parts.normalizer.get());
  return TokenizerFactory::from(std::move(parts));
}

std::string byte_level_alphabet() {
  std::string alphabet;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    append_utf8(alphabet, character_of_byte(static_cast<uint8_t>(byte)));
  }
  return alphabet;
}

}  // namespace plait::text
