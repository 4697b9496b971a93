// A set of characters, as a bracket of a regular expression describes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plait/text/inside/unicode.h"
#include "plait/text/inside/unicode_tables.h"

namespace plait::text {

class CharacterSet {
 public:
  // These add to the set.
  void add(CharacterRange range);
  void add(char32_t c) { add(CharacterRange{c, c}); }
  void add_categories(Categories categories) { categories_ |= categories; }
  void add_set(CharacterSet set) { added_.push_back(std::move(set)); }
  // Adds what differs from characters of the set in case only, of ASCII.
  void ignore_case();
  // Leaves only what the other set contains, too.
  void intersect(CharacterSet set) { required_.push_back(std::move(set)); }
  void negate() { is_negated_ = !is_negated_; }
  // Call this when the set is complete.
  void finish();

  bool contains(char32_t c) const {
    return c < 128 ? (ascii_[c / 64] >> (c % 64) & 1) != 0 : evaluate(c);
  }
  // False if it has ASCII characters only.
  bool may_be_beyond_ascii() const;
  // The character, if the set is complete and consists of one.
  std::optional<char32_t> single_character() const;

  friend bool operator==(const CharacterSet&, const CharacterSet&) = default;

 private:
  bool evaluate(char32_t c) const;

  std::array<uint64_t, 2> ascii_ = {};
  Categories categories_ = 0;
  std::vector<CharacterRange> ranges_;  // in order and disjoint once the set is complete
  std::vector<CharacterSet> added_, required_;
  bool is_negated_ = false;
};

// \s, \w, \d and \h of Oniguruma.
CharacterSet white_space_set();
CharacterSet word_set();
CharacterSet digit_set();
CharacterSet hexadecimal_set();

}  // namespace plait::text
