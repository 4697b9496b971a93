#include "plait/text/inside/models/word_piece.h"

#include "plait/core/text.h"
#include "plait/text/inside/code_points.h"

namespace plait::text {

WordPiece::WordPiece(Vocabulary vocabulary, WordPieceOptions options)
    : Model(std::move(vocabulary)), options_(std::move(options)) {
  std::vector<ByteTrie::Key> first, continuing;
  for (const auto& [id, text] : this->vocabulary().entries()) {
    first.emplace_back(text, id);
    if (text.starts_with(options_.prefix)) {
      continuing.emplace_back(text.substr(options_.prefix.size()), id);
    }
  }
  first_ = ByteTrie(std::move(first));
  continuing_ = ByteTrie(std::move(continuing));
  unknown_id_ = this->vocabulary().find(options_.unknown);
}

ModelPointer WordPiece::read(JsonFields& fields) {
  WordPieceOptions options;
  options.unknown = fields.string("unk_token");
  options.prefix = fields.string("continuing_subword_prefix");
  options.longest_word = fields.number("max_input_chars_per_word");
  return std::make_shared<WordPiece>(read_vocabulary(fields.at("vocab"), fields.place_of("vocab")),
                                     std::move(options));
}

void WordPiece::add_unknown(std::string_view word, std::vector<ModelToken>& out) const {
  if (!unknown_id_) {
    throw ValueError("{} has no tokens, and the unknown token {} is not in the vocabulary",
                     in_quotes(word), in_quotes(options_.unknown));
  }
  out.push_back({*unknown_id_, 0, static_cast<uint32_t>(word.size())});
}

void WordPiece::tokenize(std::string_view word, ModelMemory&, std::vector<ModelToken>& out) const {
  if (word.size() > options_.longest_word && character_count(word) > options_.longest_word) {
    add_unknown(word, out);
    return;
  }
  const size_t before = out.size();
  size_t begin = 0;
  while (begin < word.size()) {
    const ByteTrie& trie = begin == 0 ? first_ : continuing_;
    size_t longest = 0;
    uint32_t id = 0;
    trie.for_each_prefix(word.substr(begin), [&](size_t size, uint32_t found) {
      longest = size;
      id = found;
    });
    if (longest == 0) {
      out.resize(before);
      add_unknown(word, out);
      return;
    }
    out.push_back({id, static_cast<uint32_t>(begin), static_cast<uint32_t>(begin + longest)});
    begin += longest;
  }
}

void WordPiece::write(JsonWriter& out) const {
  out.begin_typed("WordPiece");
  out.member("unk_token", options_.unknown);
  out.member("continuing_subword_prefix", options_.prefix);
  out.member("max_input_chars_per_word", options_.longest_word);
  write_vocabulary(out);
  out.end_object();
}

}  // namespace plait::text
