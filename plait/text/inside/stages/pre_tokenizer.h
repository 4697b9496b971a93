// A pre-tokenizer splits a normalized text into words, which the model turns into tokens.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "plait/text/inside/aligned_text.h"
#include "plait/text/inside/files/json_fields.h"
#include "plait/text/inside/files/json_writer.h"

namespace plait::text {

// A part of a text: a word, or an added token.
struct TextPiece {
  static constexpr uint32_t kNoToken = UINT32_MAX;

  Span part;
  uint32_t token = kNoToken;

  bool is_token() const { return token != kNoToken; }
};

// A text with the pieces that it was split into so far, in order and not empty.
struct SplitText {
  AlignedText text;
  std::vector<TextPiece> pieces;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(SplitText& split) const = 0;
  virtual void write(JsonWriter& out) const = 0;
  // The same without its last step, if that replaces bytes by the characters of ByteLevel.
  virtual std::shared_ptr<const PreTokenizer> without_byte_level() const { return nullptr; }
};
using PreTokenizerPointer = std::shared_ptr<const PreTokenizer>;

PreTokenizerPointer read_pre_tokenizer(const Json& json, const std::string& place);

// Those in files of their own.
PreTokenizerPointer read_byte_level(JsonFields& fields);
PreTokenizerPointer read_metaspace(JsonFields& fields);
PreTokenizerPointer bert_pre_tokenizer();

// ---- Splitting.

// Says where the parts that a pattern matches go.
enum class SplitBehavior : uint8_t {
  removed,
  isolated,              // each is a piece
  merged_with_previous,  // a part of the piece before
  merged_with_next,
  contiguous,  // neighbours are one piece
};
SplitBehavior read_split_behavior(JsonFields& fields, std::string_view name);
std::string_view name_of(SplitBehavior behavior);

// The matches of a pattern in a text and what is between them, from left to right.
struct MatchedPart {
  Span part;
  bool is_match;
};

// Replaces each word by pieces of it. `split(word, add)` calls add(part) for each, with places in
// the whole text; empty parts are left out.
template <class Split>
void split_words(SplitText& split, Split split_word) {
  std::vector<TextPiece> pieces;
  pieces.reserve(split.pieces.size() + split.text.size() / 4);
  for (const TextPiece& piece : split.pieces) {
    if (piece.is_token()) {
      pieces.push_back(piece);
      continue;
    }
    split_word(piece.part, [&](Span part) {
      if (part.begin < part.end) pieces.push_back({part, TextPiece::kNoToken});
    });
  }
  split.pieces = std::move(pieces);
}

// Appends to `pieces` what the behaviour makes of the parts.
void add_split_parts(const std::vector<MatchedPart>& parts, SplitBehavior behavior,
                     std::vector<Span>& pieces);

}  // namespace plait::text
