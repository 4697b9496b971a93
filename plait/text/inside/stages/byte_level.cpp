#include "plait/text/inside/byte_alphabet.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/regex/regex.h"
#include "plait/text/inside/stages/pre_tokenizer.h"

namespace plait::text {
namespace {

const Regex& gpt2_pattern() {
  static const Regex regex(
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  return regex;
}

// Splits as GPT-2 does, and replaces each byte by a visible character.
class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  struct Options {
    bool adds_space, trims_offsets, uses_pattern;
    bool replaces_bytes = true;
  };
  explicit ByteLevelPreTokenizer(Options options) : options_(options) {
    if (options.uses_pattern) gpt2_pattern();
  }

  void apply(SplitText& split) const override {
    if (options_.adds_space) add_spaces(split);
    if (options_.uses_pattern) split_by_pattern(split);
    if (options_.replaces_bytes) replace_bytes(split);
  }
  PreTokenizerPointer without_byte_level() const override {
    Options options = options_;
    options.replaces_bytes = false;
    return std::make_shared<ByteLevelPreTokenizer>(options);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("ByteLevel");
    out.member("add_prefix_space", options_.adds_space);
    out.member("trim_offsets", options_.trims_offsets);
    out.member("use_regex", options_.uses_pattern);
    out.end_object();
  }

 private:
  // Puts a space before each word that begins with none.
  static void add_spaces(SplitText& split) {
    const auto lacks_space = [&](const TextPiece& piece) {
      return !piece.is_token() && split.text.text()[piece.part.begin] != ' ';
    };
    bool is_needed = false;
    for (const TextPiece& piece : split.pieces) is_needed = is_needed || lacks_space(piece);
    if (!is_needed) return;
    Rewriter rewriter(split.text);
    for (TextPiece& piece : split.pieces) {
      const bool adds = lacks_space(piece);
      const uint32_t begin = rewriter.written();
      rewriter.seek(piece.part.begin);
      if (adds) rewriter.insert_as_next(" ");
      rewriter.keep(piece.part.size());
      piece.part = {begin, rewriter.written()};
    }
    split.text = rewriter.finish();
  }

  static void split_by_pattern(SplitText& split) {
    split_words(split, [&](Span word, auto add) {
      uint32_t at = word.begin;
      gpt2_pattern().for_each_match(split.text.text(word), [&](Span match) {
        add(Span{at, word.begin + match.begin});
        add(Span{word.begin + match.begin, word.begin + match.end});
        at = word.begin + match.end;
      });
      add(Span{at, word.end});
    });
  }

  static void replace_bytes(SplitText& split) {
    Rewriter rewriter(split.text);
    std::string character;
    for (TextPiece& piece : split.pieces) {
      const uint32_t begin = rewriter.written();
      rewriter.seek(piece.part.begin);
      if (piece.is_token()) {
        rewriter.keep(piece.part.size());
      } else {
        for (uint32_t at = piece.part.begin; at < piece.part.end; ++at) {
          const auto byte = static_cast<uint8_t>(split.text.text()[at]);
          character.clear();
          append_utf8(character, character_of_byte(byte));
          rewriter.seek(at);
          rewriter.insert_as_next(character);
        }
      }
      piece.part = {begin, rewriter.written()};
    }
    split.text = rewriter.finish();
  }

  Options options_;
};

}  // namespace

PreTokenizerPointer read_byte_level(JsonFields& fields) {
  ByteLevelPreTokenizer::Options options{};
  options.adds_space = fields.boolean("add_prefix_space");
  options.trims_offsets = fields.boolean("trim_offsets");
  options.uses_pattern = fields.boolean_or("use_regex", true);
  return std::make_shared<ByteLevelPreTokenizer>(options);
}

}  // namespace plait::text
