// Tokenizers: texts to ids and back, as Hugging Face's `tokenizers` does it from a tokenizer.json.
//
//   const auto tokenizer = text::Tokenizer::load("tokenizer.json");
//   const text::Encoding encoding = tokenizer.encode("A text.");
//   tokenizer.decode(encoding.ids);
//
// A tokenizer is a value: nothing changes it, and the functions with_…() return another one.
// Threads may share one. Texts are UTF-8; anything else is a ValueError.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/numbers/element.h"
#include "plait/text/added_token.h"
#include "plait/text/encoding.h"

namespace plait::text {

// Which text is cut if both together are too long.
enum class TruncationStrategy : uint8_t { longest_first, only_first, only_second };

struct Truncation {
  size_t max_length = 512;  // with special tokens
  size_t stride = 0;        // tokens that a piece has in common with the next one
  TruncationStrategy strategy = TruncationStrategy::longest_first;
  Side direction = Side::right;  // where tokens are cut off

  friend bool operator==(const Truncation&, const Truncation&) = default;
};

struct Padding {
  std::optional<size_t> length = {};  // otherwise that of the longest of a batch
  std::optional<size_t> pad_to_multiple_of = {};
  Side direction = Side::right;
  uint32_t pad_id = 0;
  uint32_t pad_type_id = 0;
  std::string pad_token = "[PAD]";

  friend bool operator==(const Padding&, const Padding&) = default;
};

struct EncodeOptions {
  bool add_special_tokens = true;
  bool byte_offsets = false;  // otherwise offsets count characters
  // For a model with dropout, which needs it: the tokens are a function of the text and the key. A
  // batch draws for its text i from data::fold_in(key, i).
  std::optional<KeyBits> key = {};
};

// A text, or a pair of them.
struct TextInput {
  std::string_view text;
  std::optional<std::string_view> pair = {};
};
// The same, already split into words.
struct WordsInput {
  std::vector<std::string_view> words;
  std::optional<std::vector<std::string_view>> pair = {};
};

struct LoadOptions {
  bool lowercase = true;  // for a vocab.txt, which does not say it; files of other kinds do
  // True: the scores of Unigram are those of the file. False: those that `tokenizers` reads, where
  // the last digit may differ, so that it takes the same of two equally likely divisions.
  bool keeps_scores = false;
};

struct Pipeline;
struct VocabularyParts;

// Decodes ids that arrive one by one. Each step returns the text that is certain now, which may be
// empty: no character is divided, and the parts together are what decode() returns for all ids.
class DecodeStream {
 public:
  std::string step(uint32_t id);
  // The rest, once all ids were there: bytes that are not a whole character become U+FFFD.
  std::string finish();

 private:
  friend class Tokenizer;
  DecodeStream(std::shared_ptr<const Pipeline> pipeline, bool skips_special)
      : pipeline_(std::move(pipeline)), skips_special_(skips_special) {}

  std::shared_ptr<const Pipeline> pipeline_;
  bool skips_special_;
  std::vector<uint32_t> ids_;  // those whose text is not settled, after those that it depends on
  std::string known_;          // the text of the first of them, which was returned before
  size_t known_ids_ = 0;
};

class Tokenizer {
 public:
  // Reads a tokenizer.json, a vocab.txt of BERT (any file whose name ends in .txt), or the
  // tokenizer of a model (.gguf). ParseError names the field that is malformed or not supported;
  // IoError has the system's message.
  static Tokenizer load(const std::string& path, const LoadOptions& options = {});
  // The same, from the text of a tokenizer.json.
  static Tokenizer parse(std::string_view json, const LoadOptions& options = {});
  // From what other files have: tokens, scores, merges.
  static Tokenizer from_parts(const VocabularyParts& parts);

  // The text of a tokenizer.json, with the bytes that the reference writes.
  std::string json(bool is_pretty = false) const;
  void save(const std::string& path, bool is_pretty = true) const;

  Encoding encode(const TextInput& input, const EncodeOptions& options = {}) const;
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const {
    return encode(TextInput{text}, options);
  }
  Encoding encode_words(const WordsInput& input, const EncodeOptions& options = {}) const;
  // On the thread team. With padding, all have the same length.
  std::vector<Encoding> encode_batch(std::span<const TextInput> inputs,
                                     const EncodeOptions& options = {}) const;
  std::vector<Encoding> encode_words_batch(std::span<const WordsInput> inputs,
                                           const EncodeOptions& options = {}) const;

  // Ids that do not exist are left out.
  std::string decode(std::span<const uint32_t> ids, bool skip_special_tokens = true) const;
  std::vector<std::string> decode_batch(std::span<const std::vector<uint32_t>> batch,
                                        bool skip_special_tokens = true) const;
  DecodeStream decode_stream(bool skip_special_tokens = true) const;

  std::optional<uint32_t> token_to_id(std::string_view token) const;
  std::optional<std::string> id_to_token(uint32_t id) const;
  size_t vocab_size(bool with_added_tokens = true) const;
  // All tokens with their ids, by id.
  std::vector<std::pair<std::string, uint32_t>> vocab(bool with_added_tokens = true) const;
  std::vector<std::pair<uint32_t, AddedToken>> added_tokens() const;  // by id
  // The number of special tokens that encode() adds.
  size_t special_token_count(bool is_pair = false) const;

  const std::optional<Truncation>& truncation() const;
  const std::optional<Padding>& padding() const;

  // The probability with which BPE leaves a merge out.
  std::optional<float> dropout() const;

  // ---- Other tokenizers.

  Tokenizer with_truncation(std::optional<Truncation> truncation) const;
  Tokenizer with_padding(std::optional<Padding> padding) const;
  // Tokens that exist keep their ids, others get new ones.
  Tokenizer with_added_tokens(const std::vector<AddedToken>& tokens) const;
  // True: special tokens in a text are split like other text. Not part of the file.
  Tokenizer with_encode_special_tokens(bool value) const;
  // ValueError if the model is not BPE, or the probability is not from 0 to 1.
  Tokenizer with_dropout(std::optional<float> probability) const;

 private:
  friend class TokenizerFactory;
  explicit Tokenizer(std::shared_ptr<const Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}

  std::shared_ptr<const Pipeline> pipeline_;
};

}  // namespace plait::text
