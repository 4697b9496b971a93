#include "plait/text/tokenizer.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/ops/inside/random/philox.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/files/gguf_tokenizer.h"
#include "plait/text/inside/pipeline.h"
#include "plait/text/vocabulary_parts.h"

namespace plait::text {
namespace {

// Computes a result for each index, on the thread team.
template <class Result, class Compute>
std::vector<Result> for_all(size_t count, Compute compute) {
  std::vector<Result> results(count);
  parallel_for(static_cast<int64_t>(count), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      try {
        results[static_cast<size_t>(i)] = compute(static_cast<size_t>(i));
      } catch (Error& error) {
        error.prepend(fmt::format("text {} of the batch: ", i));
        throw;
      }
    }
  });
  return results;
}

EncodeOptions options_of_text(EncodeOptions options, size_t number) {
  if (options.key) options.key = folded_key(*options.key, number);
  return options;
}

Pipeline read_file(const std::string& path, const LoadOptions& options) {
  const InputFile file(path);
  if (path.ends_with(".gguf")) return pipeline_of(vocabulary_parts_of(Gguf::read(file.bytes())));
  const std::string_view text = characters_of(file.bytes());
  return path.ends_with(".txt") ? read_vocab_txt(text, options.lowercase)
                                : read_tokenizer_json(text, options.keeps_scores);
}

}  // namespace

Tokenizer Tokenizer::load(const std::string& path, const LoadOptions& options) {
  try {
    return Tokenizer(Pipeline::finish(read_file(path, options)));
  } catch (ParseError& error) {  // others name the file themselves
    error.prepend(path + ": ");
    throw;
  } catch (ValueError& error) {
    error.prepend(path + ": ");
    throw;
  }
}

Tokenizer Tokenizer::parse(std::string_view json, const LoadOptions& options) {
  return Tokenizer(Pipeline::finish(read_tokenizer_json(json, options.keeps_scores)));
}

Tokenizer Tokenizer::from_parts(const VocabularyParts& parts) {
  return Tokenizer(Pipeline::finish(pipeline_of(parts)));
}

std::string Tokenizer::json(bool is_pretty) const {
  return write_tokenizer_json(*pipeline_, is_pretty);
}

void Tokenizer::save(const std::string& path, bool is_pretty) const {
  const std::string text = json(is_pretty);
  OutputFile file(path);
  file.write(bytes_of(std::string_view(text)));
  file.finish();
}

// ---- Encoding.

Encoding Tokenizer::encode(const TextInput& input, const EncodeOptions& options) const {
  return pipeline_->encode(input, options, true);
}

Encoding Tokenizer::encode_words(const WordsInput& input, const EncodeOptions& options) const {
  return pipeline_->encode_words(input, options, true);
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const TextInput> inputs,
                                              const EncodeOptions& options) const {
  auto encodings = for_all<Encoding>(inputs.size(), [&](size_t i) {
    return pipeline_->encode(inputs[i], options_of_text(options, i), false);
  });
  pipeline_->pad_all(encodings);
  return encodings;
}

std::vector<Encoding> Tokenizer::encode_words_batch(std::span<const WordsInput> inputs,
                                                    const EncodeOptions& options) const {
  auto encodings = for_all<Encoding>(inputs.size(), [&](size_t i) {
    return pipeline_->encode_words(inputs[i], options_of_text(options, i), false);
  });
  pipeline_->pad_all(encodings);
  return encodings;
}

// ---- Decoding.

std::string Tokenizer::decode(std::span<const uint32_t> ids, bool skip_special_tokens) const {
  return pipeline_->decode(ids, skip_special_tokens);
}

std::vector<std::string> Tokenizer::decode_batch(std::span<const std::vector<uint32_t>> batch,
                                                 bool skip_special_tokens) const {
  return for_all<std::string>(
      batch.size(), [&](size_t i) { return pipeline_->decode(batch[i], skip_special_tokens); });
}

DecodeStream Tokenizer::decode_stream(bool skip_special_tokens) const {
  return {pipeline_, skip_special_tokens};
}

// ---- Vocabulary.

std::optional<uint32_t> Tokenizer::token_to_id(std::string_view token) const {
  const auto id = pipeline_->added.find(token);
  return id ? id : pipeline_->model->vocabulary().find(token);
}

std::optional<std::string> Tokenizer::id_to_token(uint32_t id) const {
  if (const std::string* text = pipeline_->added.text(id)) return *text;
  const auto text = pipeline_->model->vocabulary().text_if_any(id);
  return text ? std::optional(std::string(*text)) : std::nullopt;
}

size_t Tokenizer::vocab_size(bool with_added_tokens) const {
  size_t size = pipeline_->model->size();
  if (!with_added_tokens) return size;
  for (const auto& [content, id] : pipeline_->added.ids()) {
    if (!pipeline_->model->vocabulary().find(content)) ++size;
  }
  return size;
}

std::vector<std::pair<std::string, uint32_t>> Tokenizer::vocab(bool with_added_tokens) const {
  std::vector<std::pair<std::string, uint32_t>> result;
  for (const auto& [id, text] : pipeline_->model->vocabulary().entries()) {
    if (!with_added_tokens || !pipeline_->added.find(text)) result.emplace_back(text, id);
  }
  if (with_added_tokens) {
    const auto& ids = pipeline_->added.ids();
    result.insert(result.end(), ids.begin(), ids.end());
    std::ranges::sort(result, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : a.first < b.first;
    });
  }
  return result;
}

std::vector<std::pair<uint32_t, AddedToken>> Tokenizer::added_tokens() const {
  const auto& tokens = pipeline_->added.tokens();
  return {tokens.begin(), tokens.end()};
}

size_t Tokenizer::special_token_count(bool is_pair) const {
  return pipeline_->post_processor ? pipeline_->post_processor->added_tokens(is_pair) : 0;
}

const std::optional<Truncation>& Tokenizer::truncation() const { return pipeline_->truncation; }
const std::optional<Padding>& Tokenizer::padding() const { return pipeline_->padding; }
std::optional<float> Tokenizer::dropout() const { return pipeline_->model->dropout(); }

// ---- Other tokenizers.

Tokenizer Tokenizer::with_truncation(std::optional<Truncation> truncation) const {
  Pipeline changed = *pipeline_;
  changed.truncation = truncation;
  return Tokenizer(Pipeline::finish_changed(std::move(changed)));
}

Tokenizer Tokenizer::with_padding(std::optional<Padding> padding) const {
  if (padding) {
    expect_utf8(padding->pad_token, "pad_token");
    if (padding->pad_id > INT32_MAX) throw ValueError("pad_id is {}, too large", padding->pad_id);
  }
  Pipeline changed = *pipeline_;
  changed.padding = std::move(padding);
  return Tokenizer(Pipeline::finish_changed(std::move(changed)));
}

Tokenizer Tokenizer::with_added_tokens(const std::vector<AddedToken>& tokens) const {
  Pipeline changed = *pipeline_;
  changed.added.add(tokens, *changed.model, changed.normalizer.get());
  return Tokenizer(Pipeline::finish_changed(std::move(changed)));
}

Tokenizer Tokenizer::with_encode_special_tokens(bool value) const {
  Pipeline changed = *pipeline_;
  changed.encodes_special_tokens = value;
  return Tokenizer(Pipeline::finish_changed(std::move(changed)));
}

Tokenizer Tokenizer::with_dropout(std::optional<float> probability) const {
  if (probability && !(*probability >= 0 && *probability <= 1)) {
    throw ValueError("Tokenizer: the dropout is {}, expected 0 to 1", *probability);
  }
  Pipeline changed = *pipeline_;
  changed.model = pipeline_->model->with_dropout(probability);
  if (!changed.model) throw ValueError("Tokenizer: only models of BPE have dropout");
  return Tokenizer(Pipeline::finish(std::move(changed)));
}

// ---- Decoding in a stream.

// Some decoders treat the beginning of a text in a special way, and characters may consist of
// several tokens. So what ids add is the difference between two texts, both decoded with ids before
// them.
std::string DecodeStream::step(uint32_t id) {
  ids_.push_back(id);
  const std::string text = pipeline_->decode(ids_, skips_special_);
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  const bool is_settled =
      text.size() > known_.size() && !text.ends_with(kReplacement) && text.starts_with(known_);
  if (!is_settled) return {};
  std::string added = text.substr(known_.size());
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<ptrdiff_t>(known_ids_));
  known_ = pipeline_->decode(ids_, skips_special_);
  known_ids_ = ids_.size();
  return added;
}

std::string DecodeStream::finish() {
  const std::string text = pipeline_->decode(ids_, skips_special_);
  std::string rest = text.starts_with(known_) ? text.substr(known_.size()) : "";
  ids_.clear();
  known_.clear();
  known_ids_ = 0;
  return rest;
}

}  // namespace plait::text
