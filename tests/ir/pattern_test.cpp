#include "plait/ir/rewriting/pattern.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/text/printer.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

class Matching : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }

  // The body of a function with the result %r, after the rule was applied and dead code removed.
  static std::string applied(std::string_view rule, const std::string& body,
                             std::string_view result = "f64[]") {
    Program program = Program::parse(
        fmt::format("func @main(%x: f64[], %y: f64[], %i: i64[], %v: f64[3], %d: f64[]^{{data}}) "
                    "-> ({}) over {{data: 2}} {{\n{}\nreturn %r\n}}\n",
                    result, body));
    Program rewritten = prune(Rewriter({parse_rule(rule)}).rewrite(program));
    verify(rewritten);
    std::string text = print(rewritten.entry(), {.locations = false});
    size_t begin = text.find("{\n") + 2;
    return text.substr(begin, text.rfind("  return") - begin);
  }
};

TEST_F(Matching, Operations) {
  constexpr std::string_view rule = "add(?x, negate(?y)) => subtract(?x, ?y)";
  EXPECT_EQ(applied(rule, "%n = negate %y\n%r = add %x, %n"), "  %r = subtract %x, %y : f64[]\n");
  EXPECT_EQ(applied(rule, "%n = negate %x\n%r = add %n, %y"),
            "  %n = negate %x : f64[]\n  %r = add %n, %y : f64[]\n");
}

TEST_F(Matching, AVariableIsOneValue) {
  constexpr std::string_view rule = "subtract(?a, ?a) => multiply(?a, 3)";
  EXPECT_EQ(applied(rule, "%r = subtract %x, %x"),
            "  %0 = literal {value = f64[](3)} : f64[]\n  %r = multiply %x, %0 : f64[]\n");
  EXPECT_EQ(applied(rule, "%r = subtract %x, %y"), "  %r = subtract %x, %y : f64[]\n");
}

TEST_F(Matching, NumbersAreLiteralsThatHoldThemEverywhere) {
  constexpr std::string_view rule = "multiply(?a, 2) => add(?a, ?a)";
  auto fires = [&](std::string_view literal, std::string_view by, std::string_view type) {
    std::string body =
        fmt::format("%c = literal {{value = {}}}\n%r = multiply {}, %c", literal, by);
    return applied(rule, body, type).find("add") != std::string::npos;
  };
  EXPECT_TRUE(fires("f64[](2)", "%x", "f64[]"));
  EXPECT_TRUE(fires("i64[](2)", "%i", "i64[]"));
  EXPECT_TRUE(fires("f64[3](2 ...)", "%v", "f64[3]"));
  EXPECT_FALSE(fires("f64[3](2, 2, 3)", "%v", "f64[3]"));
  EXPECT_FALSE(fires("f64[](3)", "%x", "f64[]"));
  EXPECT_FALSE(fires("f64[](nan)", "%x", "f64[]"));
}

TEST_F(Matching, ZeroHasASign) {
  EXPECT_EQ(applied("add(?a, -0) => ?a", "%c = literal {value = f64[](-0)}\n%r = add %x, %c"), "");
  EXPECT_NE(applied("add(?a, 0) => ?a", "%c = literal {value = f64[](-0)}\n%r = add %x, %c"), "");
}

TEST_F(Matching, NumbersOnTheRightTakeTheDtypeOfTheResult) {
  EXPECT_EQ(applied("add(?a, ?a) => multiply(?a, 2)", "%r = add %i, %i", "i64[]"),
            "  %0 = literal {value = i64[](2)} : i64[]\n  %r = multiply %i, %0 : i64[]\n");
  EXPECT_EQ(applied("subtract(?a, ?a) => -0.5", "%r = subtract %x, %x"),
            "  %r = literal {value = f64[](-0.5)} : f64[]\n");
  EXPECT_EQ(applied("add(?a, ?a) => multiply(?a, 2)", "%r = add %d, %d", "f64[]^{data}"),
            "  %0 = literal {value = f64[](2)} : f64[]\n"
            "  %1 = vary %0 {axes = {data}} : f64[]^{data}\n"
            "  %r = multiply %d, %1 : f64[]^{data}\n");
}

TEST_F(Matching, NumbersOnTheRightStandForScalarsOnly) {
  try {
    applied("add(?a, ?a) => multiply(?a, 2)", "%r = add %v, %v", "f64[3]");
    FAIL();
  } catch (const CompileError& error) {
    EXPECT_NE(error.message().find("the number 2 can only replace a scalar, not f64[3]"),
              std::string::npos)
        << error.what();
    EXPECT_NE(error.message().find("rule `add(?a, ?a) => multiply(?a, 2)`"), std::string::npos);
  }
}

TEST_F(Matching, NumbersInsideOfReplacementsOfReplacements) {
  Program program =
      Program::parse("func @main(%x: f32[]) -> (f32[]) {\n%0 = exp %x\nreturn %0\n}\n");
  Rewriter rewriter(
      {parse_rule("exp(?a) => negate(cos(sin(?a)))"), parse_rule("cos(?a) => add(1, ?a)")});
  std::string text = rewriter.rewrite(program).text();
  EXPECT_NE(text.find("literal {value = f32[](1)} : f32[]"), std::string::npos) << text;
}

TEST_F(Matching, Attributes) {
  std::string first = "%t = tuple %x, %y\n%r = element %t {index = 0}";
  std::string second = "%t = tuple %x, %y\n%r = element %t {index = 1}";
  EXPECT_EQ(applied("element(tuple(?a, ?b)) {index = 1} => ?b", second), "");
  EXPECT_NE(applied("element(tuple(?a, ?b)) {index = 1} => ?b", first), "");
  EXPECT_EQ(applied("element(tuple(?a, ?b)) {index = 0} => ?a", first), "");
  EXPECT_EQ(applied("add(?a, ?a) => element(tuple(?a, negate(?a))) {index = 1}", "%r = add %x, %x"),
            "  %0 = negate %x : f64[]\n  %1 = tuple %x, %0 : (f64[], f64[])\n"
            "  %r = element %1 {index = 1} : f64[]\n");
}

TEST_F(Matching, AnyAttributesWhenNoneAreWritten) {
  for (std::string_view second : {"false", "true"}) {
    std::string body = fmt::format("%h = halve %v {{second = {}}}\n%r = sum %h", second);
    EXPECT_EQ(applied("sum(halve(?a)) => sum(?a)", body), "  %r = sum %v : f64[]\n");
  }
}

struct MalformedRule {
  std::string_view text;
  std::string_view message;
  int column;
};

TEST_F(Matching, MalformedRulesAreRefusedWithTheColumn) {
  const MalformedRule malformed[] = {
      {"", "expected", 1},
      {"add(?x, ?y)", "expected", 12},
      {"add(?x, ?y) =>", "expected", 15},
      {"add(?x, ?y) => ?z", "?z is not on the left", 17},
      {"?x => add(?x, ?x)", "expected an operation", 1},
      {"3 => 4", "expected an operation", 1},
      {"ad(?x, ?y) => ?x", "add", 1},
      {"add(?x) => ?x", "add does not take 1 operands", 1},
      {"add(?x, ?x => ?x", "expected", 12},
      {"add(?x, ?x) => ?x ?x", "expected the end of the rule", 19},
      {"add(?x, negate(?y) {index = 0}) => ?x", "negate has no attributes", 9},
      {"element(?x) {place = 0} => ?x", "place", 14},
      {"call(?x) => ?x", "functions or sizes", 1},
      {"add(?, ?x) => ?x", "expected", 6},
      {"add(%x, ?x) => ?x", "expected", 5},
  };
  for (const MalformedRule& each : malformed) {
    try {
      parse_rule(each.text);
      ADD_FAILURE() << "accepted: " << each.text;
    } catch (const ParseError& error) {
      EXPECT_NE(error.message().find(each.message), std::string::npos)
          << each.text << ": " << error.what();
      EXPECT_NE(error.message().find(fmt::format("column {}", each.column)), std::string::npos)
          << each.text << ": " << error.what();
    }
  }
}

TEST_F(Matching, DeepRulesAreRefused) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "negate(";
  EXPECT_THROW(parse_rule(deep), ParseError);
}

}  // namespace
}  // namespace plait::ir
