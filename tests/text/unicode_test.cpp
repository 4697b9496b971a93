#include "plait/text/inside/unicode.h"

#include <gtest/gtest.h>

#include "plait/io/inside/utf8.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/normal_form.h"
#include "plait/text/inside/script_groups.h"

#include "tests/support/errors.h"

namespace plait::text {
namespace {

std::string normalized(std::string_view text, bool is_compatible, bool is_composed) {
  AlignedText aligned(text, 0);
  normalize(aligned, {is_compatible, is_composed});
  return std::string(aligned.text());
}

TEST(Utf8, CharactersAreReadAndWritten) {
  std::string text;
  for (const char32_t c : {U'a', U'é', U'語', U'😀'}) append_utf8(text, c);
  EXPECT_EQ(text, "aé語😀");
  EXPECT_EQ(characters_of_text(text), U"aé語😀");
  EXPECT_EQ(character_count(text), 4u);
  EXPECT_EQ(character_before(text, text.size()), 6u);
}

TEST(Utf8, InvalidBytesAreFound) {
  for (const std::string_view bad : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                                     "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5", "\xe2\x82"}) {
    EXPECT_EQ(valid_utf8_bytes("ab" + std::string(bad)), 2u);
  }
  expect_contains(message_of<ValueError>([] { expect_utf8("a\xff", "the text"); }),
                  {"the text is not UTF-8: byte 1 is 0xff"});
  std::string out;
  append_with_replacements(out, "a\xf0\x9f\x98z\xff\xe2\x82");
  EXPECT_EQ(out, "a\ufffdz\ufffd\ufffd");
}

TEST(Unicode, CategoriesAreThoseOfUnicode16) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  using enum Category;
  EXPECT_EQ(category_of('a'), Ll);
  EXPECT_EQ(category_of('$'), Sc);
  EXPECT_EQ(category_of(U'é'), Ll);
  EXPECT_EQ(category_of(U'漢'), Lo);
  EXPECT_EQ(category_of(0x10d50), Lu);  // since Unicode 16
  EXPECT_EQ(category_of(0x1171e), Mc);  // Mn before
  EXPECT_EQ(category_of(0x10ffff), Cn);
  EXPECT_TRUE(is_white_space(0x2003));
  EXPECT_FALSE(is_white_space(0x200b));
  EXPECT_TRUE(is_numeric(U'½'));
  EXPECT_TRUE(is_word(0x24b6));
}

TEST(Unicode, BertHasOlderTables) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  EXPECT_TRUE(is_bert_punctuation('$'));
  EXPECT_TRUE(is_bert_punctuation(0x166d));   // a symbol since Unicode 12
  EXPECT_FALSE(is_bert_punctuation(0x2e43));  // since Unicode 9
  EXPECT_TRUE(is_bert_accent(0x301));
  EXPECT_TRUE(is_bert_control(0x200d));
  EXPECT_FALSE(is_bert_control('\n'));
}

TEST(Unicode, LowercaseMayBeTwoCharacters) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  EXPECT_EQ(lowercase_of(U'Å').first, U'å');
  EXPECT_EQ(lowercase_of(0x130).second, 0x307u);
  EXPECT_EQ(lowercase_of(U'ß').first, U'ß');
  EXPECT_EQ(lowercase_of(0xa7cb).first, 0x264u);  // since Unicode 16
}

TEST(NormalForms, ComposeAndDecompose) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  EXPECT_EQ(normalized("é", false, false), "e\u0301");
  EXPECT_EQ(normalized("e\u0301", false, true), "é");
  EXPECT_EQ(normalized("ﬁ①", true, true), "fi1");
  EXPECT_EQ(normalized("ﬁ①", false, true), "ﬁ①");
  EXPECT_EQ(normalized("각", false, false), "\u1100\u1161\u11a8");
  EXPECT_EQ(normalized("\u1100\u1161\u11a8", false, true), "각");
  EXPECT_EQ(normalized("a\u0301\u0323", false, true), "ạ\u0301");  // in canonical order
  EXPECT_EQ(normalized("\u0958", false, true), "\u0915\u093c");    // is never composed
}

// By Unicode 9, with what the reference joins.
TEST(ScriptGroups, AreThoseOfTheReference) {
  EXPECT_EQ(script_group('a'), script_group(U'é'));
  EXPECT_NE(script_group('a'), script_group(U'я'));
  EXPECT_NE(script_group('a'), script_group('1'));
  EXPECT_EQ(script_group('1'), script_group('.'));  // Common
  for (const char32_t c : {U'あ', U'ア', U'ー', U'語', U'\U0002a6d6'}) {
    EXPECT_EQ(script_group(c), script_group(U'漢'));
  }
  EXPECT_EQ(script_group(0x953), script_group(0x905));  // which Unicode changed later
  EXPECT_EQ(script_group(0x589), script_group('.'));
  for (const char32_t none : {U' ', U'\u0378', U'\u0560', U'\U0010ffff'}) {
    EXPECT_EQ(script_group(none), 0) << static_cast<uint32_t>(none);
  }
}

// Where each byte of the new text comes from.
TEST(NormalForms, KeepTrackOfPlaces) {
  if (!has_unicode()) GTEST_SKIP() << "this build has no utf8proc";
  AlignedText text("xéy", 10);
  normalize(text, {false, false});
  EXPECT_EQ(text.original({0, 1}), (Span{10, 11}));
  EXPECT_EQ(text.original({1, 2}), (Span{11, 13}));
  EXPECT_EQ(text.original({2, 4}), (Span{11, 13}));
  EXPECT_EQ(text.original({4, 5}), (Span{13, 14}));
}

TEST(AlignedText, PartsAreAppended) {
  AlignedText text("ab", 0);
  text.append(AlignedText("cd", 2));
  EXPECT_TRUE(text.is_in_place());
  text.append(AlignedText("é", 9));
  EXPECT_FALSE(text.is_in_place());
  EXPECT_EQ(text.text(), "abcdé");
  EXPECT_EQ(text.original({3, 6}), (Span{3, 11}));
}

}  // namespace
}  // namespace plait::text
