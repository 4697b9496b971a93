#include "plait/text/inside/models/model.h"

#include "plait/core/text.h"
#include "plait/text/inside/models/bpe.h"
#include "plait/text/inside/models/unigram.h"
#include "plait/text/inside/models/word_level.h"
#include "plait/text/inside/models/word_piece.h"

namespace plait::text {
namespace {

// Old files have no type.
std::string model_type(JsonFields& fields) {
  if (auto type = fields.optional_string("type")) return *type;
  if (fields.find("merges") != nullptr) return "BPE";
  const Json* vocabulary = fields.find("vocab");
  if (vocabulary != nullptr && vocabulary->holds<Json::List>()) return "Unigram";
  return fields.find("continuing_subword_prefix") != nullptr ? "WordPiece" : "WordLevel";
}

}  // namespace

ModelPointer read_model(const Json& json, bool keeps_scores) {
  JsonFields fields(json, "model");
  const std::string type = model_type(fields);
  ModelPointer model;
  if (type == "BPE") {
    model = Bpe::read(fields);
  } else if (type == "WordPiece") {
    model = WordPiece::read(fields);
  } else if (type == "Unigram") {
    model = Unigram::read(fields, keeps_scores);
  } else if (type == "WordLevel") {
    model = WordLevel::read(fields);
  } else {
    fields.fail("type", "the model {} is not supported", in_quotes(type));
  }
  fields.finish();
  return model;
}

Vocabulary read_vocabulary(const Json& json, const std::string& place) {
  const auto& members = json.as<Json::Object>(place);
  Vocabulary vocabulary;
  size_t bytes = 0;
  for (const auto& [token, id] : members) bytes += token.size();
  vocabulary.reserve(members.size(), bytes);
  for (const auto& [token, id] : members) {
    vocabulary.add(token, to_id(id, fmt::format("{}[{}]", place, in_quotes(token))));
  }
  return vocabulary;
}

void Model::write_vocabulary(JsonWriter& out) const {
  out.key("vocab");
  out.begin_object();
  for (const auto& [id, text] : vocabulary().entries()) out.member(text, id);
  out.end_object();
}

}  // namespace plait::text
