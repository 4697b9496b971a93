// The parts of a tokenizer in the order in which a text passes through them.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "plait/text/inside/models/model.h"
#include "plait/text/inside/stages/added_tokens.h"
#include "plait/text/inside/stages/decoder.h"
#include "plait/text/inside/stages/normalizer.h"
#include "plait/text/inside/stages/post_processor.h"
#include "plait/text/inside/stages/pre_tokenizer.h"
#include "plait/text/tokenizer.h"

namespace plait::text {

// Memory for calls that run at the same time; a call takes one and returns it.
class MemoryPool {
 public:
  class Loan {
   public:
    explicit Loan(MemoryPool& pool) : pool_(pool), memory_(pool.take()) {}
    ~Loan() { pool_.put(std::move(memory_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ModelMemory& memory() { return *memory_; }

   private:
    MemoryPool& pool_;
    std::unique_ptr<ModelMemory> memory_;
  };

 private:
  std::unique_ptr<ModelMemory> take();
  void put(std::unique_ptr<ModelMemory> memory) noexcept;

  std::mutex mutex_;
  std::vector<std::unique_ptr<ModelMemory>> free_;
};

struct Pipeline {
  // All but the model may be null.
  NormalizerPointer normalizer;
  PreTokenizerPointer pre_tokenizer;
  ModelPointer model;
  PostProcessorPointer post_processor;
  DecoderPointer decoder;
  AddedTokens added;
  std::optional<Truncation> truncation;
  std::optional<Padding> padding;
  bool encodes_special_tokens = false;

  // ---- Set by finish().

  // The pre-tokenizer and the model that texts pass through: of bytes, where the file has
  // ByteLevel's characters instead of them.
  PreTokenizerPointer splitter;
  ModelPointer word_model;
  std::shared_ptr<const TokenNames> names;
  std::shared_ptr<MemoryPool> memories;

  // Call it when all parts are there.
  static std::shared_ptr<const Pipeline> finish(Pipeline parts);
  // Call it when the model has stayed as it was.
  static std::shared_ptr<const Pipeline> finish_changed(Pipeline parts);

  // Throws a ValueError if the stride does not fit.
  void check_truncation() const;

  Encoding encode(const TextInput& input, const EncodeOptions& options, bool pads) const;
  Encoding encode_words(const WordsInput& input, const EncodeOptions& options, bool pads) const;
  void pad_all(std::span<Encoding> encodings) const;
  std::string decode(std::span<const uint32_t> ids, bool skips_special) const;

 private:
  std::optional<DropoutDraws> draws_of(const EncodeOptions& options) const;
  Encoding encode_text(std::string_view text, uint32_t type_id, const EncodeOptions& options,
                       std::optional<uint32_t> word, ModelMemory& memory,
                       const CallTexts& texts) const;
  SplitText normalized_and_divided(std::string_view text) const;
  void add_tokens(const SplitText& split, const TextPiece& piece,
                  std::span<const ModelToken> tokens, uint32_t word, Encoding& encoding,
                  TokenTexts& texts) const;
  void truncate_both(Encoding& encoding, Encoding* pair, size_t length) const;
  Encoding post_process(Encoding encoding, std::optional<Encoding> pair,
                        const EncodeOptions& options, const CallTexts& texts) const;
};

// Reads and writes tokenizer.json.
Pipeline read_tokenizer_json(std::string_view text, bool keeps_scores);
std::string write_tokenizer_json(const Pipeline& pipeline, bool is_pretty);
// Reads a vocab.txt of BERT, with its defaults.
Pipeline read_vocab_txt(std::string_view text, bool is_lowercase);
// Makes one from lists of tokens.
Pipeline pipeline_of(const VocabularyParts& parts);

}  // namespace plait::text
