#include "plait/text/inside/pipeline.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/text/inside/code_points.h"

namespace plait::text {
namespace {

constexpr size_t kLongestText = size_t{1} << 31;

// The names of the tokens of a pipeline. One that the model has is spelt as there: that of an added
// token may be normalized.
class PipelineNames : public TokenNames {
 public:
  PipelineNames(ModelPointer model, AddedTokens added)
      : model_(std::move(model)), added_(std::move(added)) {}
  std::string_view text_of(uint32_t id) const override {
    if (const auto known = model_->vocabulary().text_if_any(id)) return *known;
    const std::string* text = added_.text(id);
    return text == nullptr ? std::string_view() : std::string_view(*text);
  }

 private:
  ModelPointer model_;
  AddedTokens added_;
};

// Turns places in bytes into places in characters.
class OffsetUnits {
 public:
  OffsetUnits(std::string_view text, bool counts_bytes) : size_(text.size()) {
    if (counts_bytes || is_all_ascii(text)) return;
    characters_.reserve(text.size());
    uint32_t character = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      if (i > 0 && !is_continuation(static_cast<unsigned char>(text[i]))) ++character;
      characters_.push_back(character);
    }
  }
  Encoding::Offsets convert(Span bytes) const {
    if (characters_.empty() || bytes.begin >= size_) return {bytes.begin, bytes.end};
    const uint32_t begin = characters_[bytes.begin];
    if (bytes.end < size_) return {begin, characters_[bytes.end]};
    return {begin, characters_.back() + 1};
  }

 private:
  size_t size_;
  std::vector<uint32_t> characters_;  // the number of the character of each byte
};

void expect_text(std::string_view text) {
  expect_utf8(text, "the text");
  if (text.size() >= kLongestText) {
    throw ValueError("the text has {} bytes, expected less than 2^31", text.size());
  }
}

}  // namespace

std::unique_ptr<ModelMemory> MemoryPool::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<ModelMemory>();
  auto memory = std::move(free_.back());
  free_.pop_back();
  return memory;
}

void MemoryPool::put(std::unique_ptr<ModelMemory> memory) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): then the memory is freed
  }
}

std::shared_ptr<const Pipeline> Pipeline::finish(Pipeline parts) {
  parts.splitter = parts.pre_tokenizer;
  parts.word_model = parts.model;
  PreTokenizerPointer splitter =
      parts.pre_tokenizer ? parts.pre_tokenizer->without_byte_level() : nullptr;
  if (splitter) {
    if (ModelPointer of_bytes = parts.model->of_bytes()) {
      parts.splitter = std::move(splitter);
      parts.word_model = std::move(of_bytes);
    }
  }
  parts.memories = std::make_shared<MemoryPool>();
  return finish_changed(std::move(parts));
}

std::shared_ptr<const Pipeline> Pipeline::finish_changed(Pipeline parts) {
  parts.names = std::make_shared<PipelineNames>(parts.model, parts.added);
  parts.check_truncation();
  return std::make_shared<const Pipeline>(std::move(parts));
}

void Pipeline::check_truncation() const {
  if (!truncation) return;
  const size_t added_count = post_processor ? post_processor->added_tokens(false) : 0;
  if (truncation->max_length < added_count) {
    throw ValueError("truncation: max_length is {}, but {} special tokens are added",
                     truncation->max_length, added_count);
  }
  const size_t left = truncation->max_length - added_count;
  if (left < truncation->stride || (left > 0 && left == truncation->stride)) {
    throw ValueError(
        "truncation: the stride is {}, expected less than {}, which is max_length "
        "without special tokens",
        truncation->stride, left);
  }
}

// ---- From a text to its tokens.

std::optional<DropoutDraws> Pipeline::draws_of(const EncodeOptions& options) const {
  if (options.key) return DropoutDraws(*options.key);
  if (const float dropout = model->dropout().value_or(0); dropout > 0) {
    throw ValueError(
        "Tokenizer: the model leaves merges out at random, with a dropout of {}, and "
        "draws from a key, which is missing",
        dropout)
        .hint("pass a key, or use with_dropout for a tokenizer without dropout");
  }
  return std::nullopt;
}

SplitText Pipeline::normalized_and_divided(std::string_view text) const {
  SplitText split;
  for (const auto& [part, token] :
       added.divide(text, AddedTokens::Kind::as_written, encodes_special_tokens)) {
    AlignedText segment(text.substr(part.begin, part.size()), part.begin);
    const uint32_t base = split.text.size();
    if (token != UINT32_MAX) {
      split.pieces.push_back({{base, base + part.size()}, token});
    } else {
      if (normalizer) normalizer->apply(segment);
      for (const auto& [inner, inner_token] :
           added.divide(segment.text(), AddedTokens::Kind::normalized, encodes_special_tokens)) {
        split.pieces.push_back({{base + inner.begin, base + inner.end}, inner_token});
      }
    }
    split.text.append(std::move(segment));
  }
  std::erase_if(split.pieces, [](const TextPiece& piece) { return piece.part.size() == 0; });
  return split;
}

Encoding Pipeline::encode_text(std::string_view text, uint32_t type_id,
                               const EncodeOptions& options, std::optional<uint32_t> word,
                               ModelMemory& memory, const CallTexts& texts) const {
  expect_text(text);
  SplitText split = normalized_and_divided(text);
  if (splitter) splitter->apply(split);
  const OffsetUnits units(text, options.byte_offsets);
  Encoding encoding;
  encoding.texts = texts;
  reserve_tokens(encoding, split.pieces.size() + split.pieces.size() / 2);
  std::vector<ModelToken> tokens;
  for (uint32_t i = 0; i < split.pieces.size(); ++i) {
    const TextPiece& piece = split.pieces[i];
    tokens.clear();
    if (piece.is_token()) {
      tokens.push_back({piece.token, 0, piece.part.size()});
    } else {
      word_model->tokenize(split.text.text(piece.part), memory, tokens);
    }
    for (const ModelToken& token : tokens) {
      const Span inside{piece.part.begin + token.begin, piece.part.begin + token.end};
      const Span original =
          inside.end <= piece.part.end ? split.text.original(inside) : Span{token.begin, token.end};
      append_token(encoding, token.id, units.convert(original), word.value_or(i), type_id);
      if (piece.is_token() || model->is_spelt_as_input(token.id)) {
        name_last_token(encoding, texts->name(token.id, split.text.text(inside)));
      }
    }
  }
  return encoding;
}

Encoding Pipeline::encode(const TextInput& input, const EncodeOptions& options, bool pads) const {
  MemoryPool::Loan loan(*memories);
  loan.memory().draws = draws_of(options);
  const auto texts = std::make_shared<TokenTexts>(names);
  if (padding) texts->name(padding->pad_id, padding->pad_token);
  Encoding encoding = encode_text(input.text, 0, options, std::nullopt, loan.memory(), texts);
  std::optional<Encoding> pair;
  if (input.pair) {
    pair = encode_text(*input.pair, 1, options, std::nullopt, loan.memory(), texts);
  }
  encoding = post_process(std::move(encoding), std::move(pair), options, texts);
  if (pads) pad_all({&encoding, 1});
  return encoding;
}

Encoding Pipeline::encode_words(const WordsInput& input, const EncodeOptions& options,
                                bool pads) const {
  MemoryPool::Loan loan(*memories);
  loan.memory().draws = draws_of(options);
  const auto texts = std::make_shared<TokenTexts>(names);
  if (padding) texts->name(padding->pad_id, padding->pad_token);
  const auto encode_all = [&](const std::vector<std::string_view>& words, uint32_t type_id) {
    Encoding all;
    all.texts = texts;
    for (uint32_t i = 0; i < words.size(); ++i) {
      append(all, encode_text(words[i], type_id, options, i, loan.memory(), texts));
    }
    return all;
  };
  Encoding encoding = encode_all(input.words, 0);
  std::optional<Encoding> pair;
  if (input.pair) pair = encode_all(*input.pair, 1);
  encoding = post_process(std::move(encoding), std::move(pair), options, texts);
  if (pads) pad_all({&encoding, 1});
  return encoding;
}

// ---- Truncation, special tokens, padding.

void Pipeline::truncate_both(Encoding& encoding, Encoding* pair, size_t length) const {
  const auto [unused, stride, strategy, direction] = *truncation;
  const auto cut = [&](Encoding& each, size_t most) {
    if (most > 0 && most < each.size() && stride >= most) {
      throw ValueError(
          "truncation: the stride is {}, expected less than {}, the tokens that are "
          "left of a text",
          stride, most);
    }
    truncate(each, most, stride, direction);
  };
  const size_t total = encoding.size() + (pair != nullptr ? pair->size() : 0);
  if (length > 0 && total <= length) return;
  if (length == 0 || strategy == TruncationStrategy::longest_first) {
    size_t first = pair == nullptr ? length : encoding.size();
    size_t second = pair == nullptr ? 0 : pair->size();
    if (pair != nullptr) {
      size_t& shorter = first > second ? second : first;
      size_t& longer = first > second ? first : second;
      longer = shorter > length ? shorter : std::max(shorter, length - shorter);
      if (shorter + longer > length) {
        shorter = length / 2;
        longer = shorter + length % 2;
      }
    }
    cut(encoding, first);
    if (pair != nullptr) cut(*pair, second);
    return;
  }
  Encoding* target = strategy == TruncationStrategy::only_first ? &encoding : pair;
  if (target == nullptr) {
    throw ValueError("truncation: the strategy only_second needs a pair of texts");
  }
  if (target->size() <= total - length) {
    throw ValueError("truncation: the text that may be cut has {} tokens, and {} are too many",
                     target->size(), total - length);
  }
  cut(*target, target->size() - (total - length));
}

Encoding Pipeline::post_process(Encoding encoding, std::optional<Encoding> pair,
                                const EncodeOptions& options, const CallTexts& texts) const {
  if (truncation) {
    size_t length = truncation->max_length;
    const size_t added_count =
        post_processor && options.add_special_tokens ? post_processor->added_tokens(!!pair) : 0;
    if (length < added_count) {
      throw ValueError("truncation: max_length is {}, but {} special tokens are added", length,
                       added_count);
    }
    truncate_both(encoding, pair ? &*pair : nullptr, length - added_count);
  }
  std::vector<Encoding> encodings;
  encodings.push_back(std::move(encoding));
  if (pair) encodings.push_back(std::move(*pair));
  for (uint32_t i = 0; post_processor && i < encodings.size(); ++i) {
    set_sequence(encodings[i], i);
    for (Encoding& each : encodings[i].overflowing) set_sequence(each, i);
    set_type_ids(encodings[i], i);
  }
  if (post_processor) {
    post_processor->apply(encodings, options.add_special_tokens, *texts);
  } else if (pair) {
    for (uint32_t i = 0; i < 2; ++i) set_sequence(encodings[i], i);
  }
  Encoding result;
  if (encodings.size() == 1) {
    result = std::move(encodings[0]);
  } else {
    size_t count = 0;
    for (const Encoding& each : encodings) count += each.size();
    reserve_tokens(result, count);
    for (const Encoding& each : encodings) append(result, each);
  }
  result.texts = texts;
  return result;
}

void Pipeline::pad_all(std::span<Encoding> encodings) const {
  if (!padding) return;
  size_t length = padding->length.value_or(0);
  for (const Encoding& each : encodings) {
    if (!padding->length) length = std::max(length, each.size());
  }
  const size_t multiple = padding->pad_to_multiple_of.value_or(0);
  if (multiple > 0 && length % multiple > 0) length += multiple - length % multiple;
  // encode() has given the text of the padding its name before all others.
  const bool is_named = names->text_of(padding->pad_id) == padding->pad_token;
  const uint32_t name = is_named ? padding->pad_id : TokenTexts::kOwn;
  for (Encoding& each : encodings) {
    pad(each, length, {padding->pad_id, name, padding->pad_type_id, padding->direction});
  }
}

// ---- From ids to a text.

std::string Pipeline::decode(std::span<const uint32_t> ids, bool skips_special) const {
  const Vocabulary& vocabulary = model->vocabulary();
  std::vector<std::string_view> tokens;
  tokens.reserve(ids.size());
  for (const uint32_t id : ids) {
    const std::string* text = added.text(id);
    if (text != nullptr && skips_special && added.is_special(id)) continue;
    if (text != nullptr) {
      tokens.emplace_back(*text);
    } else if (const auto token = vocabulary.text_if_any(id)) {
      tokens.push_back(*token);
    }
  }
  if (decoder && !tokens.empty()) return decoder->text_of(tokens);
  std::string result;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) result += ' ';
    result += tokens[i];
  }
  return result;
}

}  // namespace plait::text
