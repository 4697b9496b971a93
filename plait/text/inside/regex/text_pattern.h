// The pattern of a Split or Replace: a string, or a regular expression.
#pragma once

#include "plait/text/inside/files/json_fields.h"
#include "plait/text/inside/files/json_writer.h"
#include "plait/text/inside/regex/regex.h"

namespace plait::text {

class Pattern {
 public:
  // {"String": "…"} or {"Regex": "…"}
  static Pattern read(const Json& json, std::string place);
  void write(JsonWriter& out) const;  // as the member "pattern"

  const Regex& regex() const { return regex_; }

 private:
  Pattern(Regex regex, std::string text, bool is_regex)
      : regex_(std::move(regex)), text_(std::move(text)), is_regex_(is_regex) {}

  Regex regex_;
  std::string text_;
  bool is_regex_;
};

}  // namespace plait::text
