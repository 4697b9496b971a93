// A tokenizer as GGUF files describe it: lists of tokens, with what is known of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace plait::text {

enum class VocabularyKind : uint8_t {
  bpe,                // "gpt2": byte-level BPE, with merges
  sentencepiece_bpe,  // "llama": BPE over characters, where "▁" stands for a space, and the token
                      // with the highest score is made first; "gemma4": with merges
  unigram,            // "t5": SentencePiece's Unigram
  word_piece,         // "bert": tokens that begin words have a "▁" before, others no "##"
};

// The numbers of GGUF.
enum class TokenType : uint8_t {
  normal = 1,
  unknown = 2,
  control = 3,       // special
  user_defined = 4,  // is found before the text is split
  unused = 5,
  byte = 6,  // <0xE4>
};

struct VocabularyParts {
  VocabularyKind kind = VocabularyKind::bpe;
  std::vector<std::string> tokens;  // the place is the id
  std::vector<float> scores;        // scores of SentencePiece's kinds
  std::vector<TokenType> types;     // empty: all are normal
  std::vector<std::string>
      merges;                 // merges of BPE: two tokens with a space between, the earliest first
  std::string pre = "gpt-2";  // for bpe: how text is split, for example "llama-bpe"
  std::string charsmap;       // charsmap of unigram: SentencePiece's precompiled_charsmap
  std::optional<uint32_t> unknown, bos, eos, separator, cls;
  bool add_bos = false, add_eos = false;
  bool add_space_prefix = true;  // for SentencePiece's kinds
};

}  // namespace plait::text
