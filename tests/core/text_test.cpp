#include "plait/core/text.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/inside/numbers/element_text.h"
#include "plait/core/numbers/literal.h"
#include "plait/core/sizes/dim.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

template <class Read>
std::string refusal_of(std::string_view text, Read read) {
  TextReader reader(text);
  return message_of<ParseError>([&] { read(reader); });
}

std::string real_text(double value) {
  std::string out;
  append_real(out, value);
  return out;
}

TEST(TextReader, SkipsSpaceAndComments) {
  TextReader reader(" ; a comment\n\t name ; another");
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(reader.name(), "name");
  EXPECT_TRUE(reader.at_end());
}

TEST(TextReader, AcceptMovesOnlyPastWhatItTakes) {
  TextReader reader("  <= x");
  EXPECT_FALSE(reader.accept("=="));
  EXPECT_EQ(reader.position(), 0u);
  EXPECT_TRUE(reader.next_is("<="));
  EXPECT_EQ(reader.position(), 0u);
  EXPECT_TRUE(reader.accept("<="));
  EXPECT_EQ(reader.position(), 4u);
}

TEST(TextReader, WordsAreWholeNames) {
  TextReader reader("constant con");
  EXPECT_FALSE(reader.accept_word("con"));
  EXPECT_TRUE(reader.next_is_word("constant"));
  EXPECT_TRUE(reader.accept_word("constant"));
  EXPECT_TRUE(reader.accept_word("con"));
}

TEST(TextReader, OtherLettersEndNoWord) {
  TextReader reader("conè");
  EXPECT_FALSE(reader.accept_word("con"));
  const auto read = [](TextReader& reader) { reader.name(); };
  EXPECT_EQ(refusal_of(" conè x", read),
            "line 1, column 2: expected a name of ASCII letters, found 'conè'");
  EXPECT_EQ(refusal_of("日本語 x", read), "line 1, column 1: expected a name, found '日本語'");
  EXPECT_EQ(refusal_of("a" + std::string(60, '\x80'), read),
            "line 1, column 1: expected a name of ASCII letters, found 'a'");
  std::string words = "abcdefghi";
  for (int i = 0; i < 20; ++i) words += "é";  // the 40th byte is the first one of a letter
  EXPECT_EQ(refusal_of(words, read), "line 1, column 1: expected a name of ASCII letters, found '" +
                                         words.substr(0, 39) + "'");
}

TEST(TextReader, NamesHoldDotsAndDigits) {
  EXPECT_EQ(TextReader("f.tape2_x<n>").name(), "f.tape2_x");
  EXPECT_TRUE(is_name("_a.1"));
  for (const char* text : {"", "1a", ".a", "a b", "a-b", "é"}) EXPECT_FALSE(is_name(text)) << text;
}

TEST(TextReader, LooksAheadWithinTheLine) {
  TextReader reader("a %x\n%y");
  reader.name();
  EXPECT_TRUE(reader.next_in_line_is("%x"));
  EXPECT_FALSE(reader.next_adjacent_is("%x"));
  reader.seek(4);
  EXPECT_FALSE(reader.next_in_line_is("%y"));
  EXPECT_TRUE(reader.next_is("%y"));
  TextReader types("f32[], f32[]  ; a.cpp:1\nf64[]");
  EXPECT_EQ(types.rest_of_line(), "f32[], f32[]");
}

TEST(TextReader, IntegersSpanSixtyFourBits) {
  EXPECT_EQ(TextReader("-9223372036854775808").integer(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(TextReader(" 9223372036854775807").integer(), std::numeric_limits<int64_t>::max());
  const auto read = [](TextReader& reader) { reader.integer(); };
  EXPECT_EQ(refusal_of("9223372036854775808", read),
            "line 1, column 1: 9223372036854775808 does not fit into 64 bits");
  EXPECT_EQ(refusal_of("x", read), "line 1, column 1: expected an integer, found 'x'");
}

TEST(TextReader, RealNumbersReadBackBitForBit) {
  const double subnormal = std::numeric_limits<double>::denorm_min();
  for (const uint64_t bits :
       {std::bit_cast<uint64_t>(0.0), std::bit_cast<uint64_t>(-0.0), std::bit_cast<uint64_t>(0.1),
        std::bit_cast<uint64_t>(subnormal), std::bit_cast<uint64_t>(1e308),
        std::bit_cast<uint64_t>(HUGE_VAL), std::bit_cast<uint64_t>(-HUGE_VAL),
        uint64_t{0x7ff8000000000000}, uint64_t{0xfff8000000000000}, uint64_t{0x7ff8000000000001}}) {
    const std::string text = real_text(std::bit_cast<double>(bits));
    TextReader reader(text);
    EXPECT_EQ(std::bit_cast<uint64_t>(read_real(reader)), bits) << text;
    EXPECT_TRUE(reader.at_end()) << text;
  }
  EXPECT_EQ(real_text(0.1), "0.1");
  EXPECT_EQ(real_text(-0.0), "-0");
  EXPECT_EQ(real_text(NAN), "nan");
  EXPECT_EQ(real_text(std::bit_cast<double>(uint64_t{0x7ff8000000000001})),
            "nan:0x7ff8000000000001");
  for (const char* text : {"1e999", "nan:0x7ff0000000000000", "nan:0x12", "+1", "-nan", "x", "-"}) {
    TextReader reader(text);
    EXPECT_THROW(read_real(reader), ParseError) << text;
  }
}

TEST(TextReader, StringsKeepEveryByte) {
  std::string every;
  for (int code = 0; code < 256; ++code) every += static_cast<char>(code);
  std::string text;
  print_quoted(text, every);
  EXPECT_EQ(TextReader(text).quoted(), every);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(TextReader(R"("a\"\\\n\t\x41")").quoted(), "a\"\\\n\tA");
  const auto read = [](TextReader& reader) { reader.quoted(); };
  EXPECT_EQ(refusal_of("\"a\nb\"", read),
            "line 1, column 1: this string is not closed on its line");
  EXPECT_EQ(refusal_of(R"("a\q")", read), R"(line 1, column 3: expected \n, \t, \", \\ or \xHH)");
  EXPECT_EQ(refusal_of(R"("\x4")", read), "line 1, column 3: expected 2 hexadecimal digits");
  EXPECT_EQ(refusal_of(R"("\)", read), R"(line 1, column 2: expected \n, \t, \", \\ or \xHH)");
}

TEST(TextReader, FailuresNameLineAndColumn) {
  const auto read = [](TextReader& reader) {
    reader.expect("(");
    reader.expect(")");
  };
  EXPECT_EQ(refusal_of("\n  ( ; (\n  add", read), "line 3, column 3: expected ')', found 'add'");
  EXPECT_EQ(refusal_of("(", read), "line 1, column 2: expected ')', found the end of the text");
  EXPECT_EQ(refusal_of("\x01", read), R"(line 1, column 1: expected '(', found '\x01')");
}

TEST(TextReader, SizesAndLiteralsFailAtTheirPlace) {
  const auto message = refusal_of("a\n  [n + ]", [](TextReader& reader) {
    reader.name();
    reader.expect("[");
    parse_dim(reader);
  });
  EXPECT_TRUE(message.starts_with("line 2, column ")) << message;
  EXPECT_EQ(message.find("column", 16), std::string::npos) << message;
  const auto literal =
      refusal_of("\n\nf32[2](1, x)", [](TextReader& reader) { parse_literal(reader); });
  EXPECT_TRUE(literal.starts_with("line 3, column ")) << literal;
}

TEST(TextReader, BracesAreFoundOutsideStringsAndComments) {
  TextReader reader("{ a {b = \"}\\\"}\"} ; }\n c } d");
  reader.expect("{");
  reader.skip_braces(0);
  EXPECT_EQ(reader.name(), "d");
  TextReader open("x\n {{}");
  open.seek(4);
  try {
    open.skip_braces(3);
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_EQ(error.message(), "line 2, column 2: this '{' has no matching '}'");
  }
}

TEST(TextReader, NestingIsBounded) {
  TextReader reader("");
  const std::function<int(int)> nest = [&](int depth) -> int {
    const TextReader::Nesting nesting(reader);
    return depth == 0 ? 0 : 1 + nest(depth - 1);
  };
  EXPECT_EQ(nest(199), 199);
  EXPECT_THROW(nest(200), ParseError);
  EXPECT_EQ(nest(199), 199);
}

}  // namespace
}  // namespace plait
