#include "plait/text/inside/regex/text_pattern.h"

namespace plait::text {

Pattern Pattern::read(const Json& json, std::string place) {
  JsonFields fields(json, std::move(place));
  const auto literal = fields.optional_string("String");
  const auto regex = fields.optional_string("Regex");
  fields.finish();
  if (literal && !regex) return {Regex::literal(*literal), *literal, false};
  if (!literal && regex) {
    try {
      return {Regex(*regex), *regex, true};
    } catch (Error& error) {
      error.prepend(fields.place() + ": ");
      throw;
    }
  }
  throw ParseError("{}: expected a member String or Regex", fields.place());
}

void Pattern::write(JsonWriter& out) const {
  out.key("pattern");
  out.begin_object();
  out.member(is_regex_ ? "Regex" : "String", text_);
  out.end_object();
}

}  // namespace plait::text
