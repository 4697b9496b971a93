#include "plait/text/inside/unicode.h"

#include <algorithm>
#include <array>

#ifdef PLAIT_HAVE_UTF8PROC
#include <utf8proc.h>
#endif

#include "plait/core/error.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/unicode_tables.h"

namespace plait::text {
namespace {

using enum Category;

#ifdef PLAIT_HAVE_UTF8PROC

const utf8proc_property_t& property_of(char32_t c) {
  return *utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
}

Category category_beyond_ascii(char32_t c) {
  const auto category = static_cast<Category>(property_of(c).category);
  if (category != Cn && c != kChangedMark) return category;
  return later_category(c).value_or(category);
}

char32_t lowercase_beyond_ascii(char32_t c) {
  const auto lower = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
  return lower != c ? lower : later_lowercase(c).value_or(c);
}

void append_full_decomposition(std::vector<char32_t>& out, char32_t c, int options) {
  constexpr size_t kLongest = 32;  // 18 characters, of U+FDFA
  std::array<utf8proc_int32_t, kLongest> characters{};
  int last = 0;
  const auto count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), characters.data(), kLongest,
                              static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | options), &last);
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    out.push_back(static_cast<char32_t>(characters[static_cast<size_t>(i)]));
  }
}

// The single character that these compose to; 0 if they stay several.
char32_t single_composition(std::vector<char32_t> characters) {
  auto* data = reinterpret_cast<utf8proc_int32_t*>(characters.data());
  const auto count =
      utf8proc_normalize_utf32(data, static_cast<utf8proc_ssize_t>(characters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  return count == 1 ? characters[0] : 0;
}

// The pairs that compose, by second and first character, found by taking all compositions apart.
class Compositions {
 public:
  Compositions() {
    constexpr char32_t kPastDecompositions = 0x30000;
    for (char32_t c = 0xc0; c < kPastDecompositions; ++c) {
      const utf8proc_property_t& property = property_of(c);
      if (property.decomp_seqindex == UINT16_MAX || property.decomp_type != 0) continue;
      if (!is_newer_than_unicode_9(c)) add(c);
    }
    std::ranges::sort(pairs_, {}, &Pair::key);
  }

  char32_t find(char32_t first, char32_t second) const {
    const uint64_t key = key_of(first, second);
    const auto found = std::ranges::lower_bound(pairs_, key, {}, &Pair::key);
    return found != pairs_.end() && found->key == key ? found->composition : 0;
  }

 private:
  struct Pair {
    uint64_t key;
    char32_t composition;
  };
  static uint64_t key_of(char32_t first, char32_t second) { return uint64_t{second} << 32 | first; }

  void add(char32_t c) {
    std::vector<char32_t> parts;
    append_full_decomposition(parts, c, 0);
    if (parts.size() < 2 || single_composition(parts) != c) return;
    const char32_t second = parts.back();
    parts.pop_back();
    const char32_t first = single_composition(parts);
    if (first != 0) pairs_.push_back({key_of(first, second), c});
  }

  std::vector<Pair> pairs_;
};

#else

[[noreturn]] void throw_no_unicode(std::string_view what) {
  throw ValueError("{}: this build of Plait has no utf8proc, which characters beyond ASCII need",
                   what)
      .hint("build Plait with utf8proc: libutf8proc-dev on Debian");
}
Category category_beyond_ascii(char32_t) { throw_no_unicode("the class of a character"); }
char32_t lowercase_beyond_ascii(char32_t) { throw_no_unicode("lowercase"); }

#endif

constexpr std::array<Category, 128> kAsciiCategories = [] {
  std::array<Category, 128> table{};
  table.fill(Po);
  for (size_t c = 0; c < 128; ++c) {
    if (c < 0x20 || c == 0x7f) table[c] = Cc;
    if (c >= '0' && c <= '9') table[c] = Nd;
    if (c >= 'A' && c <= 'Z') table[c] = Lu;
    if (c >= 'a' && c <= 'z') table[c] = Ll;
  }
  table[' '] = Zs;
  table['$'] = Sc;
  table['_'] = Pc;
  table['-'] = Pd;
  table['^'] = table['`'] = Sk;
  table['('] = table['['] = table['{'] = Ps;
  table[')'] = table[']'] = table['}'] = Pe;
  table['+'] = table['<'] = table['='] = table['>'] = table['|'] = table['~'] = Sm;
  return table;
}();

bool is_circled_letter(char32_t c) {  // symbols that are alphabetic
  return (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

struct Hangul {  // the arithmetic of its syllables
  static constexpr char32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7;
  static constexpr char32_t kVowelCount = 21, kTailCount = 28, kLeadCount = 19;
  static constexpr char32_t kSyllableCount = kLeadCount * kVowelCount * kTailCount;

  static bool is_syllable(char32_t c) { return c >= kSyllables && c < kSyllables + kSyllableCount; }
  static char32_t composed(char32_t first, char32_t second) {
    const char32_t lead = first - kLeads, vowel = second - kVowels;  // huge if it is before
    if (lead < kLeadCount && vowel < kVowelCount) {
      return kSyllables + (lead * kVowelCount + vowel) * kTailCount;
    }
    const char32_t syllable = first - kSyllables, tail = second - kTails;
    const bool has_no_tail = syllable < kSyllableCount && syllable % kTailCount == 0;
    return has_no_tail && tail > 0 && tail < kTailCount ? first + tail : 0;
  }
};

}  // namespace

Category category_of(char32_t c) {
  return c < 128 ? kAsciiCategories[c] : category_beyond_ascii(c);
}

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
  if (c < 0x1680) return c == 0x85 || c == 0xa0;
  return c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

bool is_numeric(char32_t c) {
  const bool is_of_unicode_17 = (c >= 0x11de0 && c <= 0x11de9) || (c >= 0x16ff4 && c <= 0x16ff6);
  return is_in(kNumbers, c) || is_of_unicode_17;
}

bool is_word(char32_t c) {
  constexpr Categories kWord = kLetters | kMarks | categories(Nd, Nl, Pc);
  return is_in(kWord, c) || c == 0x200c || c == 0x200d || is_circled_letter(c);
}

bool is_ascii_punctuation(char32_t c) {
  return c < 128 && is_in(kPunctuation | kSymbols, kAsciiCategories[c]);
}

bool is_bert_punctuation(char32_t c) {
  if (c < 128) return is_ascii_punctuation(c);
  if (c == 0x166d || c == 0x111c9) return true;  // they became a symbol and a mark
  return is_in(kPunctuation, c) && !is_newer_than_unicode_7(c);
}

bool is_bert_accent(char32_t c) {
  if (c < 128) return false;
  return c == 0x1734 || c == kChangedMark ||
         (is_in(categories(Mn), c) && !is_newer_than_unicode_7(c));
}

bool is_bert_control(char32_t c) {
  if (c < 128) return kAsciiCategories[c] == Cc && !(c == '\t' || c == '\n' || c == '\r');
  return is_in(categories(Cc, Cf, Co), c) && !is_newer_than_unicode_7(c);
}

bool is_accent(char32_t c) {
  if (c < 128) return false;
  return c == 0x1cf2 || c == 0x1cf3 || (is_in(kMarks, c) && !is_newer_than_unicode_9(c));
}

Lowercase lowercase_of(char32_t c) {
  if (c < 128) return {c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c};
  if (c == 0x130) return {'i', 0x307};
  return {lowercase_beyond_ascii(c)};
}

#ifdef PLAIT_HAVE_UTF8PROC

bool has_unicode() { return true; }

void expect_unicode(std::string_view) {}

uint8_t combining_class(char32_t c) {
  if (c < 0x300) return 0;
  const auto value = property_of(c).combining_class;
  return value != 0 && is_newer_than_unicode_9(c) ? 0 : static_cast<uint8_t>(value);
}

void append_decomposition(std::vector<char32_t>& out, char32_t c, bool is_compatible) {
  const auto may_decompose = [&] {
    return Hangul::is_syllable(c) || property_of(c).decomp_seqindex != UINT16_MAX;
  };
  if (c < 0xa0 || !may_decompose() || is_newer_than_unicode_9(c)) {
    out.push_back(c);
  } else {
    append_full_decomposition(out, c, is_compatible ? UTF8PROC_COMPAT : 0);
  }
}

char32_t composed(char32_t first, char32_t second) {
  static const Compositions compositions;
  if (second < 0x300) return 0;
  const char32_t syllable = Hangul::composed(first, second);
  return syllable != 0 ? syllable : compositions.find(first, second);
}

bool is_cluster_boundary(char32_t before, char32_t after, int32_t& state) {
  const auto later = later_category(after);
  if (later && is_in(kMarks, *later)) return false;
  return utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                          static_cast<utf8proc_int32_t>(after), &state);
}

#else

bool has_unicode() { return false; }
void expect_unicode(std::string_view what) { throw_no_unicode(what); }
uint8_t combining_class(char32_t c) { return c < 128 ? 0 : (throw_no_unicode("a normal form"), 0); }
void append_decomposition(std::vector<char32_t>& out, char32_t c, bool) {
  if (c >= 128) throw_no_unicode("a normal form");
  out.push_back(c);
}
char32_t composed(char32_t, char32_t) { return 0; }
bool is_cluster_boundary(char32_t before, char32_t after, int32_t&) {
  return before != '\r' || after != '\n';
}

#endif

}  // namespace plait::text
