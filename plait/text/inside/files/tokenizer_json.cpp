#include "plait/core/text.h"
#include "plait/text/inside/pipeline.h"

namespace plait::text {
namespace {

// An enumerator by its name in files.
template <class Enum, size_t size>
Enum read_choice(JsonFields& fields, std::string_view name, const std::string_view (&names)[size]) {
  const std::string text = fields.string(name);
  for (size_t i = 0; i < size; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  fields.fail(name, "{} is not supported", in_quotes(text));
}

constexpr std::string_view kSides[] = {"Left", "Right"};
constexpr std::string_view kStrategies[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};

Truncation read_truncation(const Json& json) {
  JsonFields fields(json, "truncation");
  Truncation truncation;
  if (fields.find("direction") != nullptr) {
    truncation.direction = read_choice<Side>(fields, "direction", kSides);
  }
  truncation.max_length = fields.number("max_length");
  truncation.strategy = read_choice<TruncationStrategy>(fields, "strategy", kStrategies);
  truncation.stride = fields.number("stride");
  fields.finish();
  return truncation;
}

void write_truncation(JsonWriter& out, const Truncation& truncation) {
  out.begin_object();
  out.member("direction", kSides[static_cast<size_t>(truncation.direction)]);
  out.key("max_length"), out.number(truncation.max_length);
  out.member("strategy", kStrategies[static_cast<size_t>(truncation.strategy)]);
  out.key("stride"), out.number(truncation.stride);
  out.end_object();
}

// "BatchLongest" or {"Fixed": 128}
std::optional<size_t> read_padding_length(const Json& json, const std::string& place) {
  if (json.holds<std::string>()) {
    const auto& text = json.as<std::string>(place);
    if (text == "BatchLongest") return std::nullopt;
    throw ParseError("{}: {} is not supported", place, in_quotes(text));
  }
  JsonFields fields(json, place);
  const size_t length = fields.number("Fixed");
  fields.finish();
  return length;
}

Padding read_padding(const Json& json) {
  JsonFields fields(json, "padding");
  Padding padding;
  padding.length = read_padding_length(fields.at("strategy"), fields.place_of("strategy"));
  padding.direction = read_choice<Side>(fields, "direction", kSides);
  padding.pad_to_multiple_of = fields.optional_number("pad_to_multiple_of");
  padding.pad_id = to_id(fields.at("pad_id"), fields.place_of("pad_id"));
  padding.pad_type_id = fields.number("pad_type_id");
  padding.pad_token = fields.string("pad_token");
  fields.finish();
  return padding;
}

void write_padding(JsonWriter& out, const Padding& padding) {
  out.begin_object();
  out.key("strategy");
  if (padding.length) {
    out.begin_object();
    out.key("Fixed"), out.number(*padding.length);
    out.end_object();
  } else {
    out.string("BatchLongest");
  }
  out.member("direction", kSides[static_cast<size_t>(padding.direction)]);
  out.key("pad_to_multiple_of");
  padding.pad_to_multiple_of ? out.number(*padding.pad_to_multiple_of) : out.null();
  out.member("pad_id", padding.pad_id);
  out.member("pad_type_id", padding.pad_type_id);
  out.member("pad_token", padding.pad_token);
  out.end_object();
}

// Adds the tokens. Their ids follow from the model and their order, so the file must agree.
void read_added_tokens(const Json::List& list, Pipeline& pipeline) {
  std::vector<AddedToken> tokens;
  std::vector<uint32_t> ids;
  for (size_t i = 0; i < list.size(); ++i) {
    JsonFields fields(list[i], element_place("added_tokens", i));
    ids.push_back(to_id(fields.at("id"), fields.place_of("id")));
    tokens.push_back(read_added_token(fields));
    fields.finish();
  }
  pipeline.added.add(tokens, *pipeline.model, pipeline.normalizer.get());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = pipeline.added.find(tokens[i].content);
    if (id && *id != ids[i]) {
      throw ParseError("{}: the id of {} is {}, but its place gives it {}",
                       element_place("added_tokens", i), in_quotes(tokens[i].content), ids[i], *id);
    }
  }
}

template <class Part>
void write_part(JsonWriter& out, std::string_view name, const Part& part) {
  out.key(name);
  part ? part->write(out) : out.null();
}

}  // namespace

Pipeline read_tokenizer_json(std::string_view text, bool keeps_scores) {
  const Json json = Json::parse(text);
  JsonFields fields(json, "");
  Pipeline pipeline;
  if (const auto version = fields.optional_string("version"); version && *version != "1.0") {
    fields.fail("version", "{} is not supported", in_quotes(*version));
  }
  if (const Json* part = fields.find("normalizer")) {
    pipeline.normalizer = read_normalizer(*part, "normalizer");
  }
  if (const Json* part = fields.find("pre_tokenizer")) {
    pipeline.pre_tokenizer = read_pre_tokenizer(*part, "pre_tokenizer");
  }
  if (const Json* part = fields.find("post_processor")) {
    pipeline.post_processor = read_post_processor(*part, "post_processor");
  }
  if (const Json* part = fields.find("decoder")) {
    pipeline.decoder = read_decoder(*part, "decoder");
  }
  pipeline.model = read_model(fields.at("model"), keeps_scores);
  if (const Json* part = fields.find("truncation")) pipeline.truncation = read_truncation(*part);
  if (const Json* part = fields.find("padding")) pipeline.padding = read_padding(*part);
  if (const Json* part = fields.find("added_tokens")) {
    read_added_tokens(part->as<Json::List>("added_tokens"), pipeline);
  }
  fields.finish();
  return pipeline;
}

std::string write_tokenizer_json(const Pipeline& pipeline, bool is_pretty) {
  JsonWriter out(is_pretty);
  out.begin_object();
  out.member("version", "1.0");
  out.key("truncation");
  pipeline.truncation ? write_truncation(out, *pipeline.truncation) : out.null();
  out.key("padding");
  pipeline.padding ? write_padding(out, *pipeline.padding) : out.null();
  out.key("added_tokens");
  pipeline.added.write(out);
  write_part(out, "normalizer", pipeline.normalizer);
  write_part(out, "pre_tokenizer", pipeline.pre_tokenizer);
  write_part(out, "post_processor", pipeline.post_processor);
  write_part(out, "decoder", pipeline.decoder);
  write_part(out, "model", pipeline.model);
  out.end_object();
  return out.finish();
}

}  // namespace plait::text
