#include "plait/text/inside/regex/regex.h"

#include <gtest/gtest.h>

#include "plait/text/inside/unicode.h"

#include "tests/support/errors.h"

namespace plait::text {
namespace {

// The matches, separated by "/".
std::string matches_of(const Regex& regex, std::string_view text) {
  std::string result;
  regex.for_each_match(text, [&](Span match) {
    result += std::string(text.substr(match.begin, match.size())) + "/";
  });
  return result;
}
std::string matches(std::string_view pattern, std::string_view text) {
  return matches_of(Regex(pattern), text);
}

TEST(Regex, TheKnownFamiliesSplitText) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  EXPECT_EQ(matches(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
                    "I'll go,  at 10am.\n"),
            "I/'ll/ go/,/ / at/ 10/am/./\n/");
  EXPECT_EQ(matches(R"((?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
                    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)",
                    "don'T 12345 !!\n\n  x"),
            "don/'T/ /123/45/ !!\n\n/ / x/");
  EXPECT_EQ(matches("[一-龥]+|[ぁ-ゟ]+", "漢字かな交"), "漢字/かな/交/");
}

TEST(Regex, QuantifiersAreGreedyLazyOrPossessive) {
  EXPECT_EQ(matches("a{2,3}", "aaaaa"), "aaa/aa/");
  EXPECT_EQ(matches("a{2,3}?", "aaaaa"), "aa/aa/");
  EXPECT_EQ(matches("a+?b|a", "aab"), "aab/");
  EXPECT_EQ(matches("a++a|b", "aab"), "b/");
  EXPECT_EQ(matches("(?>ab|a)c", "abcac"), "abc/ac/");
  EXPECT_EQ(matches("(?:ab|a)(?:c|bcd)", "abcd"), "abc/");
  EXPECT_EQ(matches("(?:ab){2}", "ababab"), "abab/");
}

TEST(Regex, ConditionsLookAround) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  EXPECT_EQ(matches("a(?=b)|b(?!c)", "abacbbc"), "a/b/b/");
  EXPECT_EQ(matches("(?<=a)b|(?<!a)c", "abcac"), "b/c/");
  EXPECT_EQ(matches(R"(\bé\w*|^b|d$)", "é éa aé\nb d"), "é/éa/b/d/");
  EXPECT_EQ(matches(R"(\Aa|a\z)", "aaa"), "a/a/");
}

TEST(Regex, ClassesMayBeNegatedNestedAndIntersected) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  EXPECT_EQ(matches("[^a-c]+", "abxyc"), "xy/");
  EXPECT_EQ(matches("[a-z&&[^aeiou]]+", "hello"), "h/ll/");
  EXPECT_EQ(matches(R"([\p{Lu}\d]+|\P{L})", "aB1é!"), "B1/!/");
  EXPECT_EQ(matches(R"([\]\-^])", "a]-^"), "]/-/^/");
  EXPECT_EQ(matches("(?i:k)s", "KsKsks"), "Ks/Ks/ks/");
}

// As Oniguruma does it: an empty match does not follow another match.
TEST(Regex, EmptyMatches) {
  EXPECT_EQ(matches("x*", "aéxx"), "//xx/");
  EXPECT_EQ(matches_of(Regex::literal(""), "ab"), "///");
  EXPECT_EQ(matches_of(Regex::literal("aa"), "aaaaa"), "aa/aa/");
  EXPECT_EQ(matches_of(Regex::literal("a.c"), "abca.c"), "a.c/");
  EXPECT_EQ(matches("a|", ""), "/");
}

TEST(Regex, NamesUnsupportedSyntax) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  const auto message = [](std::string_view pattern) {
    return message_of<ParseError>([&] { Regex regex{pattern}; });
  };
  expect_contains(message("a(b"), {"the regular expression \"a(b\"", "a group is not closed"});
  expect_contains(message(R"(\1)"), {R"(the escape \1 is not supported)"});
  expect_contains(message(R"(\p{Klingon})"), {"the property \"Klingon\" is not supported"});
  expect_contains(message("(?:a*)+"), {"may match nothing is repeated without limit"});
  expect_contains(message("(?<=a+)b"), {"a lookbehind of variable length is not supported"});
  expect_contains(message("a{5000}"), {"an interval is longer than 1000"});
  expect_contains(message("(?:(?:a{900}){900}){900}"), {"it is too large"});
  expect_contains(message("\xff"), {"not UTF-8"});
  expect_contains(message(std::string(1000, '(')), {"groups are nested too deeply"});
}

// Backtracking alone would try 2^30000 ways here.
TEST(Regex, HostileTextsTakeTimeInProportion) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  const std::string many(30'000, 'a');
  for (const char* pattern : {"(?:a|aa)+b", "(?:a+)+b", "a*a*a*b", ".*?b", "a++b", R"(\w+\s)"}) {
    EXPECT_EQ(matches(pattern, many), "") << pattern;
  }
  EXPECT_EQ(matches("(?:a|aa)+b|c", many + "c"), "c/");
  EXPECT_EQ(matches("(?:a+)+b|a", "aaa" + std::string(20'000, 'c')), "a/a/a/");
}

TEST(Regex, LimitsBacktracking) {
  const std::string many(100'000, 'a');
  const Regex regex("(?>a+)b");
  expect_contains(message_of<ValueError>([&] { matches_of(regex, many); }),
                  {"takes too long on a text of 100000 bytes"});
}

}  // namespace
}  // namespace plait::text
