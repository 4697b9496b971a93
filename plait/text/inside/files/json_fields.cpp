#include "plait/text/inside/files/json_fields.h"

#include <algorithm>

#include "plait/core/text.h"
#include "plait/text/inside/code_points.h"

namespace plait::text {

JsonFields::JsonFields(const Json& object, std::string place)
    : object_(object), place_(std::move(place)) {
  object.as<Json::Object>(place_);
}

std::string JsonFields::place_of(std::string_view name) const {
  return place_.empty() ? std::string(name) : fmt::format("{}.{}", place_, name);
}

const Json* JsonFields::find(std::string_view name) {
  read_.push_back(name);
  const Json* found = object_.find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

const Json& JsonFields::at(std::string_view name) {
  const Json* found = find(name);
  if (found == nullptr) throw ParseError("{} is missing", place_of(name));
  return *found;
}

bool JsonFields::boolean(std::string_view name) { return at(name).as<bool>(place_of(name)); }

bool JsonFields::boolean_or(std::string_view name, bool otherwise) {
  return optional_boolean(name).value_or(otherwise);
}

std::optional<bool> JsonFields::optional_boolean(std::string_view name) {
  const Json* found = find(name);
  return found == nullptr ? std::nullopt : std::optional(found->as<bool>(place_of(name)));
}

std::string JsonFields::string(std::string_view name) {
  return at(name).as<std::string>(place_of(name));
}

std::optional<std::string> JsonFields::optional_string(std::string_view name) {
  const Json* found = find(name);
  if (found == nullptr) return std::nullopt;
  return found->as<std::string>(place_of(name));
}

char32_t JsonFields::character(std::string_view name) {
  const std::string text = string(name);
  if (character_count(text) != 1) fail(name, "expected one character, not {}", in_quotes(text));
  return character_at(text, 0);
}

uint32_t JsonFields::number(std::string_view name) { return to_uint32(at(name), place_of(name)); }

std::optional<uint32_t> JsonFields::optional_number(std::string_view name) {
  const Json* found = find(name);
  return found == nullptr ? std::nullopt : std::optional(to_uint32(*found, place_of(name)));
}

const Json::List& JsonFields::list(std::string_view name) {
  return at(name).as<Json::List>(place_of(name));
}

std::string JsonFields::type() { return string("type"); }

void JsonFields::ignore(std::string_view name) { read_.push_back(name); }

void JsonFields::finish() const {
  for (const auto& [name, value] : object_.as<Json::Object>(place_)) {
    if (std::ranges::find(read_, name) == read_.end()) {
      throw ParseError("{} is not supported", place_of(name))
          .hint("remove it if the tokenizer does the same without it");
    }
  }
}

namespace {

uint32_t number_up_to(const Json& json, std::string_view place, int64_t most) {
  const int64_t value = json.as<int64_t>(place);
  if (value < 0 || value > most) {
    throw ParseError("{} is {}, expected 0 to {}", place, value, most);
  }
  return static_cast<uint32_t>(value);
}

}  // namespace

uint32_t to_uint32(const Json& json, std::string_view place) {
  return number_up_to(json, place, UINT32_MAX);
}
uint32_t to_id(const Json& json, std::string_view place) {
  return number_up_to(json, place, INT32_MAX);
}

std::string element_place(std::string_view list, size_t index) {
  return fmt::format("{}[{}]", list, index);
}

}  // namespace plait::text
