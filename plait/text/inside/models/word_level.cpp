#include "plait/text/inside/models/word_level.h"

#include "plait/core/text.h"

namespace plait::text {

ModelPointer WordLevel::read(JsonFields& fields) {
  std::string unknown = fields.string("unk_token");
  return std::make_shared<WordLevel>(read_vocabulary(fields.at("vocab"), fields.place_of("vocab")),
                                     std::move(unknown));
}

void WordLevel::tokenize(std::string_view word, ModelMemory&, std::vector<ModelToken>& out) const {
  std::optional<uint32_t> id = vocabulary().find(word);
  if (!id) id = vocabulary().find(unknown_);
  if (!id) {
    throw ValueError("{} is not in the vocabulary, nor is the unknown token {}", in_quotes(word),
                     in_quotes(unknown_));
  }
  out.push_back({*id, 0, static_cast<uint32_t>(word.size())});
}

void WordLevel::write(JsonWriter& out) const {
  out.begin_typed("WordLevel");
  write_vocabulary(out);
  out.member("unk_token", unknown_);
  out.end_object();
}

}  // namespace plait::text
