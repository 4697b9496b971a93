#include "plait/text/inside/regex/character_set.h"

#include <algorithm>

namespace plait::text {
namespace {

constexpr char32_t kLongS = 0x17f, kKelvinSign = 0x212a;  // lowercase is an ASCII letter

std::vector<CharacterRange> in_order(std::vector<CharacterRange> ranges) {
  std::ranges::sort(ranges, {}, &CharacterRange::first);
  std::vector<CharacterRange> result;
  for (const CharacterRange& range : ranges) {
    if (!result.empty() && range.first <= result.back().last) {
      result.back().last = std::max(result.back().last, range.last);
    } else {
      result.push_back(range);
    }
  }
  return result;
}

}  // namespace

void CharacterSet::add(CharacterRange range) { ranges_.push_back(range); }

void CharacterSet::ignore_case() {
  ranges_ = in_order(std::move(ranges_));
  std::vector<CharacterRange> others;
  for (char32_t c = 'a'; c <= 'z'; ++c) {
    const char32_t upper = c - 32;
    const bool is_there = plait::text::contains(ranges_, c) ||
                          plait::text::contains(ranges_, upper) ||
                          (c == 's' && plait::text::contains(ranges_, kLongS)) ||
                          (c == 'k' && plait::text::contains(ranges_, kKelvinSign));
    if (!is_there) continue;
    others.insert(others.end(), {{c, c}, {upper, upper}});
    if (c == 's') others.push_back({kLongS, kLongS});
    if (c == 'k') others.push_back({kKelvinSign, kKelvinSign});
  }
  ranges_.insert(ranges_.end(), others.begin(), others.end());
}

void CharacterSet::finish() {
  ranges_ = in_order(std::move(ranges_));
  for (CharacterSet& set : added_) set.finish();
  for (CharacterSet& set : required_) set.finish();
  ascii_ = {};
  for (char32_t c = 0; c < 128; ++c) {
    if (evaluate(c)) ascii_[c / 64] |= uint64_t{1} << (c % 64);
  }
}

bool CharacterSet::evaluate(char32_t c) const {
  bool result = (!ranges_.empty() && plait::text::contains(ranges_, c)) ||
                (categories_ != 0 && is_in(categories_, c));
  for (size_t i = 0; !result && i < added_.size(); ++i) result = added_[i].contains(c);
  for (size_t i = 0; result && i < required_.size(); ++i) result = required_[i].contains(c);
  return result != is_negated_;
}

bool CharacterSet::may_be_beyond_ascii() const {
  return is_negated_ || categories_ != 0 || !added_.empty() ||
         (!ranges_.empty() && ranges_.back().last >= 128);
}

std::optional<char32_t> CharacterSet::single_character() const {
  const bool is_plain = !is_negated_ && categories_ == 0 && added_.empty() && required_.empty();
  const bool is_single = is_plain && ranges_.size() == 1 && ranges_[0].first == ranges_[0].last;
  return is_single ? std::optional(ranges_[0].first) : std::nullopt;
}

CharacterSet white_space_set() {
  CharacterSet set;
  for (const CharacterRange range : {CharacterRange{'\t', '\r'},
                                     {' ', ' '},
                                     {0x85, 0x85},
                                     {0xa0, 0xa0},
                                     {0x1680, 0x1680},
                                     {0x2000, 0x200a},
                                     {0x2028, 0x2029},
                                     {0x202f, 0x202f},
                                     {0x205f, 0x205f},
                                     {0x3000, 0x3000}}) {
    set.add(range);
  }
  return set;
}

CharacterSet word_set() {
  using enum Category;
  CharacterSet set;
  set.add_categories(kLetters | kMarks | categories(Nd, Nl, Pc));
  for (const CharacterRange range : {CharacterRange{0xb2, 0xb3},
                                     {0xb9, 0xb9},
                                     {0xbc, 0xbe},
                                     {0x24b6, 0x24e9},
                                     {0x1f130, 0x1f149},
                                     {0x1f150, 0x1f169},
                                     {0x1f170, 0x1f189}}) {
    set.add(range);
  }
  return set;
}

CharacterSet digit_set() {
  CharacterSet set;
  set.add_categories(categories(Category::Nd));
  return set;
}

CharacterSet hexadecimal_set() {
  CharacterSet set;
  for (const CharacterRange range : {CharacterRange{'0', '9'}, {'A', 'F'}, {'a', 'f'}}) {
    set.add(range);
  }
  return set;
}

}  // namespace plait::text
