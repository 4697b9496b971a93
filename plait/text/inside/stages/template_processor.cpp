#include <algorithm>

#include <fmt/format.h>

#include "plait/core/text.h"
#include "plait/text/inside/stages/post_processor.h"

namespace plait::text {
namespace {

// A place of a template: a text, or special tokens.
struct TemplatePart {
  bool is_text;
  std::string id;  // "A" or "B", or the name of special tokens
  uint32_t type_id;
};
// Special tokens that have one name in templates.
struct NamedTokens {
  std::string name;
  std::vector<SpecialToken> tokens;
};

TemplatePart read_part(const Json& json, const std::string& place) {
  JsonFields outer(json, place);
  const bool is_text = outer.find("Sequence") != nullptr;
  const std::string_view kind = is_text ? "Sequence" : "SpecialToken";
  JsonFields fields(outer.at(kind), outer.place_of(kind));
  outer.finish();
  TemplatePart part{is_text, fields.string("id"), fields.number("type_id")};
  fields.finish();
  if (is_text && part.id != "A" && part.id != "B") {
    fields.fail("id", "{} is neither \"A\" nor \"B\"", in_quotes(part.id));
  }
  return part;
}

std::vector<TemplatePart> read_parts(JsonFields& fields, std::string_view name) {
  const Json::List& list = fields.list(name);
  std::vector<TemplatePart> parts;
  for (size_t i = 0; i < list.size(); ++i) {
    parts.push_back(read_part(list[i], element_place(fields.place_of(name), i)));
  }
  return parts;
}

NamedTokens read_named_tokens(const Json& json, const std::string& name, const std::string& place) {
  JsonFields fields(json, place);
  NamedTokens named{fields.string("id"), {}};
  if (named.name != name) fields.fail("id", "it differs from the name {}", in_quotes(name));
  const Json::List& ids = fields.list("ids");
  const Json::List& texts = fields.list("tokens");
  fields.finish();
  if (ids.size() != texts.size()) {
    throw ParseError("{}: {} ids for {} tokens", place, ids.size(), texts.size());
  }
  for (size_t i = 0; i < ids.size(); ++i) {
    named.tokens.push_back({to_id(ids[i], place), texts[i].as<std::string>(place)});
  }
  return named;
}

class TemplateProcessor : public PostProcessor {
 public:
  TemplateProcessor(std::vector<TemplatePart> single, std::vector<TemplatePart> pair,
                    std::vector<NamedTokens> named)
      : single_(std::move(single)), pair_(std::move(pair)), named_(std::move(named)) {}

  size_t added_tokens(bool is_pair) const override {
    size_t count = 0;
    for (const TemplatePart& part : is_pair ? pair_ : single_) {
      if (!part.is_text) count += find(part.id)->tokens.size();
    }
    return count;
  }
  void apply(std::vector<Encoding>& encodings, bool adds_special_tokens,
             TokenTexts& texts) const override {
    if (encodings.size() > 2) {
      throw ValueError("a template is for one or two texts, not for {} parts", encodings.size())
          .hint("put the template last in the sequence of post-processors");
    }
    const std::vector<TemplatePart>& parts = encodings.size() == 2 ? pair_ : single_;
    std::vector<Encoding> result;
    result.reserve(parts.size());
    for (auto part_at = parts.begin(); part_at != parts.end(); ++part_at) {
      const TemplatePart& part = *part_at;
      if (part.is_text) {
        const uint32_t number = part.id == "A" ? 0 : 1;
        Encoding& encoding = encodings[number];
        set_type_ids(encoding, part.type_id);
        set_sequence(encoding, number);
        const bool appears_again = std::any_of(part_at + 1, parts.end(), [&](const auto& other) {
          return other.is_text && other.id == part.id;
        });
        result.push_back(appears_again ? encoding : std::move(encoding));
      } else if (adds_special_tokens) {
        Encoding& encoding = result.emplace_back();
        reserve_tokens(encoding, find(part.id)->tokens.size());
        for (const SpecialToken& token : find(part.id)->tokens) {
          append_special(encoding, token, part.type_id, texts);
        }
      }
    }
    encodings = std::move(result);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("TemplateProcessing");
    write_parts(out, "single", single_);
    write_parts(out, "pair", pair_);
    out.key("special_tokens");
    out.begin_object();
    std::vector<NamedTokens> by_name = named_;
    std::ranges::sort(by_name, {}, &NamedTokens::name);
    for (const NamedTokens& named : by_name) write_named(out, named);
    out.end_object();
    out.end_object();
  }

  // Throws unless the templates name what exists.
  void check(const JsonFields& fields) const {
    const auto check_part = [&](const TemplatePart& part, std::string_view name, bool is_single) {
      if (!part.is_text && find(part.id) == nullptr) {
        fields.fail(name, "the special token {} is not in special_tokens", in_quotes(part.id));
      }
      if (part.is_text && is_single && part.id == "B") {
        fields.fail(name, "it uses the second text, but is for one");
      }
    };
    for (const TemplatePart& part : single_) check_part(part, "single", true);
    for (const TemplatePart& part : pair_) check_part(part, "pair", false);
  }

 private:
  const NamedTokens* find(const std::string& name) const {
    const auto found = std::ranges::find(named_, name, &NamedTokens::name);
    return found == named_.end() ? nullptr : &*found;
  }

  static void write_parts(JsonWriter& out, std::string_view name,
                          const std::vector<TemplatePart>& parts) {
    out.key(name);
    out.begin_list();
    for (const TemplatePart& part : parts) {
      out.begin_object();
      out.key(part.is_text ? "Sequence" : "SpecialToken");
      out.begin_object();
      out.member("id", part.id);
      out.member("type_id", part.type_id);
      out.end_object();
      out.end_object();
    }
    out.end_list();
  }
  static void write_named(JsonWriter& out, const NamedTokens& named) {
    out.key(named.name);
    out.begin_object();
    out.member("id", named.name);
    out.key("ids");
    out.begin_list();
    for (const SpecialToken& token : named.tokens) out.number(token.id);
    out.end_list();
    out.key("tokens");
    out.begin_list();
    for (const SpecialToken& token : named.tokens) out.string(token.text);
    out.end_list();
    out.end_object();
  }

  std::vector<TemplatePart> single_, pair_;
  std::vector<NamedTokens> named_;
};

}  // namespace

PostProcessorPointer read_template(JsonFields& fields) {
  std::vector<TemplatePart> single = read_parts(fields, "single");
  std::vector<TemplatePart> pair = read_parts(fields, "pair");
  const std::string place = fields.place_of("special_tokens");
  std::vector<NamedTokens> named;
  for (const auto& [name, json] : fields.at("special_tokens").as<Json::Object>(place)) {
    named.push_back(read_named_tokens(json, name, fmt::format("{}.{}", place, name)));
  }
  auto processor =
      std::make_shared<TemplateProcessor>(std::move(single), std::move(pair), std::move(named));
  processor->check(fields);
  return processor;
}

}  // namespace plait::text
