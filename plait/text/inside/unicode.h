// Properties of characters, as Unicode 16 has them: by utf8proc, and by tables for what it is too
// old for. A build without utf8proc knows ASCII only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace plait::text {

// The general categories by Unicode's names, in the order of utf8proc.
// NOLINTBEGIN(readability-identifier-naming)
enum class Category : uint8_t {
  Cn,
  Lu,
  Ll,
  Lt,
  Lm,
  Lo,
  Mn,
  Mc,
  Me,
  Nd,
  Nl,
  No,
  Pc,
  Pd,
  Ps,
  Pe,
  Pi,
  Pf,
  Po,
  Sm,
  Sc,
  Sk,
  So,
  Zs,
  Zl,
  Zp,
  Cc,
  Cf,
  Cs,
  Co
};
// NOLINTEND(readability-identifier-naming)

// A set of categories, one bit each.
using Categories = uint32_t;
template <class... Each>
constexpr Categories categories(Each... each) {
  return ((Categories{1} << static_cast<int>(each)) | ...);
}
inline constexpr Categories kAllCategories = (Categories{1} << 30) - 1;
inline constexpr Categories kLetters =
    categories(Category::Lu, Category::Ll, Category::Lt, Category::Lm, Category::Lo);
inline constexpr Categories kMarks = categories(Category::Mn, Category::Mc, Category::Me);
inline constexpr Categories kNumbers = categories(Category::Nd, Category::Nl, Category::No);
inline constexpr Categories kPunctuation =
    categories(Category::Pc, Category::Pd, Category::Ps, Category::Pe, Category::Pi, Category::Pf,
               Category::Po);
inline constexpr Categories kSymbols =
    categories(Category::Sm, Category::Sc, Category::Sk, Category::So);
inline constexpr Categories kSeparators = categories(Category::Zs, Category::Zl, Category::Zp);
inline constexpr Categories kOthers =
    categories(Category::Cn, Category::Cc, Category::Cf, Category::Cs, Category::Co);

constexpr bool is_in(Categories set, Category category) {
  return (set >> static_cast<int>(category) & 1) != 0;
}

bool has_unicode();  // false if this build has no utf8proc, and no tables beyond ASCII
// Throws a ValueError that names what needs Unicode's tables, if there are none.
void expect_unicode(std::string_view what);

Category category_of(char32_t c);
inline bool is_in(Categories set, char32_t c) { return is_in(set, category_of(c)); }

bool is_white_space(char32_t c);
bool is_numeric(char32_t c);
// Letters, marks, digits, connectors: \w of regular expressions in Rust. Oniguruma differs for
// seven characters.
bool is_word(char32_t c);
bool is_ascii_punctuation(char32_t c);

// The questions of BERT's stages. Their reference has the tables of Unicode 7.
bool is_bert_punctuation(char32_t c);
bool is_bert_accent(char32_t c);
bool is_bert_control(char32_t c);
// A mark, by Unicode 9: what StripAccents removes.
bool is_accent(char32_t c);

// One character for each but U+0130, which is two.
struct Lowercase {
  char32_t first;
  char32_t second = 0;
};
Lowercase lowercase_of(char32_t c);

// ---- For normal forms, by Unicode 9.

uint8_t combining_class(char32_t c);
// Appends the full decomposition; a character without one is its own.
void append_decomposition(std::vector<char32_t>& out, char32_t c, bool is_compatible);
// The composition of two characters; 0 if there is none.
char32_t composed(char32_t first, char32_t second);

// True if a cluster of characters, which users see as one, ends between two of them. The state is 0
// at the beginning of a text.
bool is_cluster_boundary(char32_t before, char32_t after, int32_t& state);

}  // namespace plait::text
