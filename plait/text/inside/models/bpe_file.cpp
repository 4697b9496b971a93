#include "plait/core/text.h"
#include "plait/text/inside/models/bpe.h"

namespace plait::text {
namespace {

BpeMerge read_json_merge(const Json& json, uint32_t rank, const std::string& place) {
  if (json.holds<std::string>()) return read_merge(json.as<std::string>(place), rank, place);
  const auto& pair = json.as<Json::List>(place);
  if (pair.size() != 2) throw ParseError("{}: expected two tokens, not {}", place, pair.size());
  return {pair[0].as<std::string>(place), pair[1].as<std::string>(place), rank};
}

BpeMerges read_merges(const Json::List& list, const std::string& place) {
  BpeMerges merges;
  merges.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const bool is_comment =
        list[i].holds<std::string>() && list[i].as<std::string>(place).starts_with("#version");
    if (is_comment) continue;
    const auto rank = static_cast<uint32_t>(merges.size());
    merges.push_back(read_json_merge(list[i], rank, element_place(place, i)));
  }
  return merges;
}

}  // namespace

BpeMerge read_merge(std::string_view text, uint32_t rank, const std::string& place) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    throw ParseError("{}: expected two tokens with a space between, not {}", place,
                     in_quotes(text));
  }
  return {std::string(text.substr(0, space)), std::string(text.substr(space + 1)), rank};
}

ModelPointer Bpe::read(JsonFields& fields) {
  BpeOptions options;
  if (const Json* dropout = fields.find("dropout")) {
    options.dropout = static_cast<float>(dropout->number(fields.place_of("dropout")));
    if (!(*options.dropout >= 0 && *options.dropout <= 1)) {
      fields.fail("dropout", "it is {}, expected 0 to 1", *options.dropout);
    }
  }
  options.unknown = fields.optional_string("unk_token");
  options.prefix = fields.optional_string("continuing_subword_prefix");
  options.suffix = fields.optional_string("end_of_word_suffix");
  options.fuses_unknown = fields.boolean_or("fuse_unk", false);
  options.has_byte_tokens = fields.boolean_or("byte_fallback", false);
  options.ignores_merges = fields.boolean_or("ignore_merges", false);
  return std::make_shared<Bpe>(read_vocabulary(fields.at("vocab"), fields.place_of("vocab")),
                               read_merges(fields.list("merges"), fields.place_of("merges")),
                               std::move(options));
}

void Bpe::write(JsonWriter& out) const {
  out.begin_typed("BPE");
  out.key("dropout");
  options_.dropout ? out.short_real(*options_.dropout) : out.null();
  out.member("unk_token", options_.unknown);
  out.member("continuing_subword_prefix", options_.prefix);
  out.member("end_of_word_suffix", options_.suffix);
  out.member("fuse_unk", options_.fuses_unknown);
  out.member("byte_fallback", options_.has_byte_tokens);
  out.member("ignore_merges", options_.ignores_merges);
  write_vocabulary(out);
  out.key("merges");
  out.begin_list();
  for (const auto& [left, right, rank] : merges_) {
    if (table_.find(left, right).rank != rank) continue;  // it appears again later
    out.begin_list();
    out.string(vocabulary().text(left));
    out.string(vocabulary().text(right));
    out.end_list();
  }
  out.end_list();
  out.end_object();
}

}  // namespace plait::text
