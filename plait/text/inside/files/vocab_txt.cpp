#include "plait/core/text.h"
#include "plait/io/inside/utf8.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/models/word_piece.h"
#include "plait/text/inside/pipeline.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

std::string_view without_spaces_at_end(std::string_view line) {
  while (!line.empty()) {
    const size_t last = character_before(line, line.size());
    if (!is_white_space(character_at(line, last))) break;
    line = line.substr(0, last);
  }
  return line;
}

// A token a line; the number of the line is the id.
Vocabulary read_lines(std::string_view text) {
  Vocabulary vocabulary;
  uint32_t id = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    vocabulary.add(without_spaces_at_end(text.substr(0, end)), id++);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return vocabulary;
}

}  // namespace

Pipeline read_vocab_txt(std::string_view text, bool is_lowercase) {
  if (const size_t valid = valid_utf8_bytes(text); valid != text.size()) {
    throw ParseError("byte {}: this is not UTF-8", valid);
  }
  Vocabulary vocabulary = read_lines(text);
  for (const std::string_view needed : {"[UNK]", "[CLS]", "[SEP]"}) {
    if (!vocabulary.find(needed)) {
      throw ParseError("the token {} is missing in this vocabulary of BERT", in_quotes(needed));
    }
  }
  const SpecialToken cls{*vocabulary.find("[CLS]"), "[CLS]"};
  const SpecialToken sep{*vocabulary.find("[SEP]"), "[SEP]"};
  Pipeline pipeline;
  pipeline.normalizer = bert_normalizer(is_lowercase);
  pipeline.pre_tokenizer = bert_pre_tokenizer();
  pipeline.post_processor = bert_processor(cls, sep);
  pipeline.decoder = word_piece_decoder("##", true);
  pipeline.model = std::make_shared<WordPiece>(std::move(vocabulary), WordPieceOptions());
  std::vector<AddedToken> special;
  for (const char* content : {"[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"}) {
    if (!pipeline.model->vocabulary().find(content)) continue;
    special.push_back({.content = content, .normalized = false, .special = true});
  }
  pipeline.added.add(special, *pipeline.model, pipeline.normalizer.get());
  return pipeline;
}

}  // namespace plait::text
