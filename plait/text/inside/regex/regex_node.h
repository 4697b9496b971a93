// A regular expression as a tree, as the parser returns it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "plait/text/inside/regex/character_set.h"

namespace plait::text {

enum class RegexKind : uint8_t {
  set,           // one character of a set
  sequence,      // its children, one after another; nothing if it has none
  alternatives,  // the first child that leads to a match
  repeat,        // its child, several times
  look,          // its child, here, without consuming it
  atomic,        // its child, whose first match is final
  assertion,
};

enum class Greed : uint8_t { greedy, lazy, possessive };
enum class Assertion : uint8_t {
  line_begin,
  line_end,
  text_begin,
  text_end,
  text_end_or_newline,
  word_boundary,
  no_word_boundary
};

inline constexpr uint32_t kUnbounded = UINT32_MAX;

struct RegexNode {
  RegexKind kind = RegexKind::sequence;
  std::vector<RegexNode> children = {};
  CharacterSet set = {};
  uint32_t least = 0, most = 0;  // least and most of a repeat
  Greed greed = Greed::greedy;
  bool is_behind = false, is_negative = false;  // for a lookaround
  Assertion assertion = Assertion::line_begin;
};

// Throws a ParseError that quotes the pattern and names what is malformed or unsupported.
RegexNode parse_regex(std::string_view pattern);

// True if it can match nothing at all.
bool is_nullable(const RegexNode& node);

}  // namespace plait::text
