#include "plait/io/inside/json.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace plait {
namespace {

std::string error_of(std::string_view text) {
  return message_of<ParseError>([&] { Json::parse(text); });
}

TEST(Json, IsReadAndWritten) {
  const std::string_view text =
      R"({"b":[1,-2,0.5,true,null],"a":{"é\n":"\"\\\u0001"},"":[],"c":{}})";
  const Json json = Json::parse(text);
  EXPECT_EQ(json.text(), text);
  EXPECT_EQ(Json::parse(json.text()), json);
  EXPECT_EQ(json.at("b").as<Json::List>("b")[1].as<int64_t>("b[1]"), -2);
  EXPECT_EQ(json.at("b").as<Json::List>("b")[0].number("b[0]"), 1);
  EXPECT_EQ(json.find("d"), nullptr);
  EXPECT_EQ(Json::parse(R"("\ud83d\ude00")").as<std::string>(""), "😀");
  EXPECT_EQ(Json::parse(R"("\u0041\u00e9\u20ac\uFFFF\"\\\/\b\f\n\r\t")").as<std::string>(""),
            "Aé€\uffff\"\\/\b\f\n\r\t");
  EXPECT_EQ(Json::parse(" \t\r\n[ ] ").text(), "[]");
}

TEST(Json, IntegersOfMoreThan64BitsKeepTheirDigits) {
  const std::string id = "18446744073709551615";
  const Json json = Json::parse("[" + id + ",-" + id + "]");
  EXPECT_EQ(json.as<Json::List>("")[0].as<Json::BigInteger>("").digits, id);
  EXPECT_EQ(json.text(), "[" + id + ",-" + id + "]");
  EXPECT_EQ(json.as<Json::List>("")[1].number(""), -18446744073709551616.);
  expect_contains(message_of<ParseError>([&] { Json::parse(id).as<int64_t>("it"); }),
                  {"it is an integer of more than 64 bits, expected an integer"});
  expect_contains(error_of(std::string(400, '9')), {"exceeds the range"});
}

TEST(Json, Numbers) {
  EXPECT_EQ(Json::parse("9223372036854775807").as<int64_t>("it"), INT64_MAX);
  EXPECT_EQ(Json::parse("9223372036854775808").number("it"), 9223372036854775808.);
  expect_contains(message_of<ParseError>([] { Json::parse("-0").as<int64_t>("it"); }),
                  {"it is a number"});
  EXPECT_EQ(Json::parse("-9223372036854775808").as<int64_t>("it"), INT64_MIN);
  EXPECT_EQ(Json::parse("1e3").number("it"), 1000);
  EXPECT_EQ(Json::parse("-1.5E-2").number("it"), -0.015);
  EXPECT_EQ(Json::parse("1e-400").number("it"), 0);
  EXPECT_EQ(Json::parse("5e-324").number("it"), 5e-324);
  EXPECT_EQ(Json::parse(std::string(400, '9') + "e-400").number("it"), 1);
  EXPECT_EQ(Json::parse("-0").number("it"), 0);
  EXPECT_EQ(Json::parse("-0").text(), "-0");
}

TEST(Json, RefusesMalformedTexts) {
  for (const std::string_view text : {"",
                                      "{",
                                      "[1,]",
                                      "{\"a\":1,}",
                                      "nul",
                                      "01",
                                      "NaN",
                                      "\"\x80\"",
                                      "\"\\ud800\"",
                                      "\"a",
                                      "1 2",
                                      "'a'",
                                      "[1 2]",
                                      "{1:2}",
                                      "1e999",
                                      "-",
                                      "1.",
                                      ".5",
                                      "1e",
                                      "+1",
                                      "-01",
                                      "0x1",
                                      "[1",
                                      "[,1]",
                                      "{\"a\"}",
                                      "{,}",
                                      "truely",
                                      "\"\n\"",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u12g4\"",
                                      "\"\\udc00\"",
                                      "\"\\ud800\\u0041\"",
                                      "\"\\ud800x\"",
                                      "\"\\",
                                      "[]]",
                                      "\xef\xbb\xbf{}"}) {
    EXPECT_FALSE(error_of(text).empty()) << text;
  }
  expect_contains(error_of("[1, x]"), {"byte 4"});
  expect_contains(error_of({"{}\0 ", 4}), {"byte 2: expected the end of the text"});
  expect_contains(error_of("[1, \"é\\q\"]"), {"byte 8: an unknown escape"});
  expect_contains(error_of("\"a\x80\""), {"byte 2: this is not UTF-8"});
  expect_contains(error_of(R"({"a":1,"a":2})"), {"two members named \"a\""});
  std::string many = "{";
  for (int i = 0; i < 40; ++i) many += fmt::format(R"("{}":{},)", i, i);
  EXPECT_EQ(Json::parse(many + R"("40":0})").at("39").as<int64_t>(""), 39);
  expect_contains(error_of(many + R"("7":0})"), {"two members named \"7\""});
  EXPECT_EQ(Json::parse(std::string(128, '[') + std::string(128, ']')).text().size(), 256);
  expect_contains(error_of(std::string(1'000'000, '[')), {"more than 128 levels"});
}

TEST(Json, OtherTypesAreRefused) {
  const Json json = Json::parse(R"({"a":"text","b":1.5})");
  expect_contains(message_of<ParseError>([&] { json.at("a").as<int64_t>("a"); }),
                  {"a is a string, expected an integer"});
  expect_contains(message_of<ParseError>([&] { json.at("b").as<int64_t>("b"); }),
                  {"b is a number, expected an integer"});
  expect_contains(message_of<ParseError>([&] { json.at("a").number("a"); }),
                  {"a is a string, expected a number"});
  expect_contains(message_of<ParseError>([&] { json.at("c"); }), {"\"c\" is missing"});
  expect_contains(message_of<ParseError>([&] { Json::parse("[]").at("c"); }),
                  {"c is a list, expected an object"});
}

}  // namespace
}  // namespace plait
