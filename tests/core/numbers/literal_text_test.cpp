#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/numbers/literal.h"
#include "plait/core/text.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

Literal parsed_literal(std::string_view text) { return parse_whole(text, parse_literal); }

std::string parse_failure(std::string_view text) {
  return message_of<ParseError>([&] { parsed_literal(text); });
}

template <class Word>
std::string text_of_bits(DType dtype, Word word) {
  std::vector<std::byte> bytes(sizeof word);
  std::memcpy(bytes.data(), &word, sizeof word);
  const std::string text = Literal::of_bytes(dtype, {}, std::move(bytes)).text();
  const size_t open = text.find('(');
  return text.substr(open + 1, text.size() - open - 2);
}

TEST(LiteralText, ReadsAndWritesTheSame) {
  for (const char* text : {
           "f32[](3.5)",
           "f32[2, 2](1, 2, 3.5, nan)",
           "f64[5](0.1, -0, inf, -inf, 1e+300)",
           "f16[2](65504, 6e-08)",
           "bf16[1](3.39e+38)",
           "f8e4m3[3](448, 0.002, nan)",
           "f8e5m2[2](inf, -57344)",
           "i8[2](-128, 127)",
           "u64[1](18446744073709551615)",
           "i64[1](-9223372036854775808)",
           "bool[2](true, false)",
           "c64[2]((1+2j), (-0-infj))",
           "c128[1]((nan+nan:0xfff8000000000000j))",
           "key[2](0x000102030405060708090a0b0c0d0e0f, 0xffffffffffffffffffffffffffffffff)",
           "f32[0]()",
           "key[2, 0, 3]()",
           "f32[1000](0 ...)",
           "c64[3, 3]((1-1j) ...)",
           "bool[2](true ...)",
           "key[2](0x000102030405060708090a0b0c0d0e0f ...)",
           "key[1000](0x000102030405060708090a0b0c0d0e0f ...)",
       }) {
    EXPECT_EQ(parsed_literal(text).text(), text);
  }
}

TEST(LiteralText, NanWithOtherBitsShowsThem) {
  EXPECT_EQ(text_of_bits(DType::f32, uint32_t{0x7fc00000}), "nan");
  EXPECT_EQ(text_of_bits(DType::f32, uint32_t{0x7fc00001}), "nan:0x7fc00001");
  EXPECT_EQ(text_of_bits(DType::f32, uint32_t{0x7f800001}), "nan:0x7f800001");
  EXPECT_EQ(text_of_bits(DType::f64, uint64_t{0x7ff8000000000000}), "nan");
  EXPECT_EQ(text_of_bits(DType::f64, uint64_t{0xfff8000000000000}), "nan:0xfff8000000000000");
  EXPECT_EQ(text_of_bits(DType::f16, uint16_t{0x7e00}), "nan");
  EXPECT_EQ(text_of_bits(DType::f16, uint16_t{0xfe01}), "nan:0xfe01");
  EXPECT_EQ(text_of_bits(DType::bf16, uint16_t{0x7fc0}), "nan");
  EXPECT_EQ(text_of_bits(DType::f8e4m3, uint8_t{0x7f}), "nan");
  EXPECT_EQ(text_of_bits(DType::f8e4m3, uint8_t{0xff}), "nan:0xff");
  EXPECT_EQ(text_of_bits(DType::f8e5m2, uint8_t{0x7e}), "nan");
  EXPECT_EQ(text_of_bits(DType::f8e5m2, uint8_t{0x7d}), "nan:0x7d");
}

TEST(LiteralText, EveryPatternOfTheSmallFormatsReadsBack) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2}) {
    const auto size = static_cast<size_t>(size_of(dtype));
    for (uint32_t pattern = 0; pattern < (uint32_t{1} << (8 * size)); ++pattern) {
      std::vector<std::byte> bytes(size);
      std::memcpy(bytes.data(), &pattern, size);
      const Literal literal = Literal::of_bytes(dtype, {}, std::move(bytes));
      ASSERT_EQ(parsed_literal(literal.text()), literal) << literal.text();
    }
  }
}

TEST(LiteralText, ManyElementsAreInHexadecimal) {
  std::vector<std::byte> bytes(65 * 2);
  bytes[3] = std::byte{0xab};
  const Literal literal = Literal::of_bytes(DType::i16, {65}, bytes);
  EXPECT_EQ(literal.text(), "i16[65](0x000000ab" + std::string(63 * 4, '0') + ")");
  EXPECT_EQ(parsed_literal(literal.text()), literal);
  bytes.resize(128);
  const std::string text = Literal::of_bytes(DType::i16, {64}, bytes).text();
  EXPECT_EQ(text.substr(0, 18), "i16[64](0, -21760,");
}

TEST(LiteralText, ManyKeysAreInHexadecimalToo) {
  std::vector<std::byte> bytes(65 * 16);
  bytes[0] = std::byte{1};
  const Literal literal = Literal::of_bytes(DType::key, {65}, bytes);
  EXPECT_EQ(parsed_literal(literal.text()), literal);
}

TEST(LiteralText, SmallLiteralsMayBeInHexadecimalOrSpaced) {
  EXPECT_EQ(parsed_literal("i16[2](0x01000200)").text(), "i16[2](1, 2)");
  EXPECT_EQ(parsed_literal(" i16 [ 2 ] ( 1 ,\n 2 )").text(), "i16[2](1, 2)");
  EXPECT_EQ(parsed_literal("f32[](.5)").text(), "f32[](0.5)");
  EXPECT_EQ(parsed_literal("c64[](( 1+2j ))").text(), "c64[]((1+2j))");
  EXPECT_EQ(parsed_literal("f32[1](3 ...)").text(), "f32[1](3)");
}

TEST(LiteralText, StartsAndEndsWithinAText) {
  const std::string text = "constant f32[](1) : f32[]";
  TextReader reader(text, 9);
  EXPECT_EQ(parse_literal(reader).text(), "f32[](1)");
  EXPECT_EQ(reader.position(), 17u);
  reader = TextReader(text, 1000);
  EXPECT_THROW(parse_literal(reader), ParseError);
}

TEST(LiteralText, FailuresNameTheColumn) {
  const std::vector<std::array<std::string, 2>> cases = {
      {"", "line 1, column 1: expected a dtype, found the end of the text"},
      {"f33[](1)", "line 1, column 1: expected a dtype, found 'f33'"},
      {"f32", "line 1, column 4: expected '[', found the end of the text"},
      {"f32[x](1)", "line 1, column 5: expected a size, found 'x'"},
      {"f32[-1](1)", "line 1, column 5: expected a size, found '-'"},
      {"f32[2,](1)", "line 1, column 7: expected a size, found ']'"},
      {"f32[2](1)", "line 1, column 9: expected ',' and element 2 of 2, found ')'"},
      {"f32[1](1, 2)", "line 1, column 9: expected ')', found ','"},
      {"f32[](1", "line 1, column 8: expected ')', found the end of the text"},
      {"f32[](one)", "line 1, column 7: expected a number, found 'one'"},
      {"f32[](--1)", "line 1, column 7: expected a number, found '-'"},
      {"f32[](-nan)", "line 1, column 7: expected a number, found '-'"},
      {"f32[](.)", "line 1, column 7: expected a number, found '.'"},
      {"f32[](infinity)", "line 1, column 10: expected ')', found 'inity'"},
      {"f8e4m3[](inf)", "line 1, column 10: f8e4m3 has no infinity"},
      {"i8[](1.5)", "line 1, column 7: expected ')', found '.5'"},
      {"i8[](x)", "line 1, column 6: expected an integer, found 'x'"},
      {"bool[](1)", "line 1, column 8: expected true or false, found '1'"},
      {"c64[]((1))", "line 1, column 9: expected '+', found ')'"},
      {"c64[]((1+-2j))", "line 1, column 10: expected a number without a sign, found '-'"},
      {"key[](0x12)",
       "line 1, column 9: expected two hexadecimal digits for each of 16 bytes, found 2"},
      {"key[2](0x000102030405060708090a0b0c0d0e0f, 0x12)",
       "line 1, column 46: expected 32 hexadecimal digits, found 2"},
      {"f32[](nan:0x7f800000)",
       "line 1, column 13: expected the 8 hexadecimal digits of a NaN of f32"},
      {"f32[](nan:0x7fc0)", "line 1, column 13: expected the 8 hexadecimal digits of a NaN of f32"},
      {"i16[2](0x010002)",
       "line 1, column 10: expected two hexadecimal digits for each of 4 bytes, found 6"},
      {"bool[2](0x0102)",
       "line 1, column 1: literal bool: element 1 is the byte 2; a bool is 0 or 1"},
      {"f32[]\xff\x01", "line 1, column 6: expected '(', found '\xff'"},
  };
  for (const auto& [text, message] : cases) EXPECT_EQ(parse_failure(text), message);
}

TEST(LiteralText, NumbersThatTheDTypeCannotHoldAreRefused) {
  EXPECT_EQ(parse_failure("i8[](128)"),
            "line 1, column 6: 128 does not fit into i8, whose range is -128 to 127");
  EXPECT_EQ(parse_failure("u8[2](3, -1)"),
            "line 1, column 10: -1 does not fit into u8, whose range is 0 to 255");
  EXPECT_EQ(parse_failure("f8e4m3[](1000)"),
            "line 1, column 10: 1000 does not fit into f8e4m3, whose range is -448 to 448");
  for (const char* text :
       {"i64[](9223372036854775808)", "u64[](18446744073709551616)", "f64[](1e400)", "f32[](1e39)",
        "f16[](65520)", "f64[](1e-400)", "f32[](1e-60)", "f16[](1e-9)", "bf16[](1e-60)"}) {
    EXPECT_NE(parse_failure(text).find("does not fit into"), std::string::npos) << text;
  }
  EXPECT_EQ(parsed_literal("f16[](65519)").text(), "f16[](65504)");
}

TEST(LiteralText, HugeSizesAreRefusedBeforeMemoryIsAskedFor) {
  EXPECT_EQ(parse_failure("f32[1000000000000](1, 2)"),
            "line 1, column 24: expected ',' and element 3 of 1000000000000, found ')'");
  EXPECT_EQ(parse_failure("f32[1000000000000](0x00)"),
            "line 1, column 22: expected two hexadecimal digits for each of 4000000000000 bytes, "
            "found 2");
  EXPECT_EQ(parse_failure("f32[99999999999999999999](1)"),
            "line 1, column 5: 99999999999999999999 does not fit into 64 bits");
  EXPECT_EQ(
      parse_failure("f32[4294967296, 4294967296](0 ...)"),
      "line 1, column 1: literal f32[4294967296, 4294967296]: its size in bytes exceeds 64 bits");
}

}  // namespace
}  // namespace plait
