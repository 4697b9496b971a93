// Regular expressions over UTF-8, in the syntax of Oniguruma (Ruby's) as far as tokenizers use it:
// classes with properties, negation, nesting and &&, groups, alternatives, quantifiers (greedy,
// lazy, possessive), lookahead, lookbehind, anchors, (?i:…) for ASCII letters. Everything else is a
// ParseError that names it: captures that are referred to, conditionals, recursion.
//
// A search takes time in proportion to the text and the pattern, or throws: it backtracks, and once
// that takes long it also remembers what failed.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "plait/core/function_ref.h"
#include "plait/text/inside/aligned_text.h"

namespace plait::text {

struct RegexProgram;

class Regex {
 public:
  explicit Regex(std::string_view pattern);
  // Matches the text itself.
  static Regex literal(std::string_view text);

  // Calls the function for each match, from left to right. Matches do not overlap, and an empty one
  // does not follow another one directly.
  void for_each_match(std::string_view text, FunctionRef<void(Span)> found) const;

 private:
  Regex() = default;

  std::shared_ptr<const RegexProgram> program_;  // null for a literal
  std::string literal_;
};

}  // namespace plait::text
