// The members of a JSON object, each of which must be read: what the reader does not know is
// refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/inside/json.h"

namespace plait::text {

class JsonFields {
 public:
  // `place` names the object in messages: "normalizer". The object must outlive this.
  JsonFields(const Json& object, std::string place);

  const std::string& place() const { return place_; }
  // The name of a member in messages: "normalizer.prepend".
  std::string place_of(std::string_view name) const;

  // Nothing if there is no such member, or it is null.
  const Json* find(std::string_view name);
  const Json& at(std::string_view name);  // ParseError if there is none

  bool boolean(std::string_view name);
  bool boolean_or(std::string_view name, bool otherwise);
  std::optional<bool> optional_boolean(std::string_view name);
  std::string string(std::string_view name);
  std::optional<std::string> optional_string(std::string_view name);
  char32_t character(std::string_view name);  // a string of one character
  uint32_t number(std::string_view name);     // 0 to 2^32 - 1
  std::optional<uint32_t> optional_number(std::string_view name);
  const Json::List& list(std::string_view name);

  // Reads the member "type".
  std::string type();
  // Marks a member as read without reading it, since it has no effect.
  void ignore(std::string_view name);
  // Throws a ParseError that names a member that was not read.
  void finish() const;

  template <class... Arguments>
  [[noreturn]] void fail(std::string_view name, fmt::format_string<Arguments...> format,
                         Arguments&&... arguments) const {
    throw ParseError("{}: {}", place_of(name),
                     fmt::format(format, std::forward<Arguments>(arguments)...));
  }

 private:
  const Json& object_;
  std::string place_;
  std::vector<std::string_view> read_;
};

uint32_t to_uint32(const Json& json, std::string_view place);
uint32_t to_id(const Json& json, std::string_view place);  // id of a token: below 2^31

// The element of a list in messages: "added_tokens[3]".
std::string element_place(std::string_view list, size_t index);

}  // namespace plait::text
